-- queen.push in a transaction of the user's (docs/sql.md).
CREATE TABLE orders (id int PRIMARY KEY, state text);

-- rollback leaves nothing (I11)
BEGIN;
INSERT INTO orders VALUES (1, 'paid');
SELECT queen.push('shop.orders', '{"order":1}') IS NOT NULL;
ROLLBACK;
DO $$ BEGIN
    ASSERT NOT EXISTS (SELECT FROM queen.messages) AND NOT EXISTS (SELECT FROM queen.batches)
        AND NOT EXISTS (SELECT FROM queen.queues), 'rolled back';
END $$;

-- outbox without a relay: the row and its message become visible together
BEGIN;
INSERT INTO orders VALUES (1, 'paid');
SELECT queen.push('shop.orders', json_build_object('order', id, 'state', state), 'customer-7', 'order-1-paid') FROM orders WHERE id = 1;
COMMIT;
DO $$
DECLARE v record;
BEGIN
    SELECT * INTO STRICT v FROM queen.messages;
    ASSERT v.queue = 'shop.orders' AND v.partition = 'customer-7' AND v.seq = 0 AND v.transaction_id = 'order-1-paid'
        AND v.payload ->> 'state' = 'paid' AND v.meta IS NULL;
    ASSERT (SELECT broker = 0 AND base_seqs = '{0}' FROM queen.batches WHERE partitions[1] > 0), 'brokers that tail will see it';
    ASSERT queen.push('shop.orders', '{}', 'customer-7', 'order-1-paid') = v.id, 'a duplicate returns the stored id';
    ASSERT (SELECT count(*) FROM queen.messages) = 1;
END $$;

-- payloads as they are; NULL; pretty-printed
DO $$
DECLARE v_id uuid;
BEGIN
    v_id := queen.push('push.json', E'{\n  "a" : [1,\r\n 2.50], "z":"\\u0000"\n}');
    ASSERT (SELECT payload::text = '{   "a" : [1,   2.50], "z":"\u0000" }' AND id = v_id AND transaction_id = v_id::text
            FROM queen.messages WHERE queue = 'push.json'), (SELECT payload::text FROM queen.messages WHERE queue = 'push.json');
    PERFORM queen.push('push.json', NULL);
    ASSERT (SELECT payload::text = 'null' FROM queen.messages WHERE queue = 'push.json' AND seq = 1);
    ASSERT (SELECT array_agg(id ORDER BY id) = array_agg(id ORDER BY seq) FROM queen.messages WHERE queue = 'push.json');
END $$;

-- refusals
SELECT test.fails($$ SELECT queen.push('', '1') $$, 'QN400');
SELECT test.fails($$ SELECT queen.push(NULL, '1') $$, 'QN400');
SELECT test.fails($$ SELECT queen.push(repeat('x', 256), '1') $$, 'QN400');
SELECT test.fails($$ SELECT queen.push(E'a\tb', '1') $$, 'QN400');
SELECT test.fails($$ SELECT queen.push('q', '1', E'a\nb') $$, 'QN400');
SELECT test.fails($$ SELECT queen.push('q', '1', NULL) $$, 'QN400');
SELECT test.fails($$ SELECT queen.push('q', '1', 'p', repeat('x', 256)) $$, 'QN400');
SELECT test.fails($$ SELECT queen.push('q', '1', 'p', E'a\nb') $$, 'QN400');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT test.fails($$ SELECT queen.push('q', '1') $$, 'QN010');
ROLLBACK;
