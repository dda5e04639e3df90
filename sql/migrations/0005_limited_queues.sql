-- Every broker looks each second which queues have a limit; usually none or few of many.
CREATE INDEX queues_limited ON queen.queues (id) WHERE max_size > 0;
