-- For procedures: what brokers believe of the lanes of these queues no longer holds, and no append decided from it
-- is taken any more. Called last, when nothing is left to wait for: whoever holds a queue's row waits for nobody.
-- Queues in the order of their ids, which is everybody's.
CREATE OR REPLACE FUNCTION queen.raise_versions(p_queues int[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE queen.queues q SET version = q.version + 1
    FROM (SELECT x.id FROM queen.queues x WHERE x.id = ANY (p_queues) ORDER BY x.id FOR NO KEY UPDATE) l
    WHERE q.id = l.id;
END $$;
