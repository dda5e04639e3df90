-- The second half of compare-and-append. Old epochs are cleaned up, so an insert made from a stale
-- snapshot can find its place free although later epochs exist. In a statement of its own (a younger
-- snapshot) such rows are recognised and removed. Row i of the arrays is what was inserted, with epoch NULL
-- where nothing was; the places (1 = first) of those that lost are returned.
CREATE OR REPLACE FUNCTION queen.drop_stale_progress(p_partitions int[], p_groups int[], p_epochs bigint[])
RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
    v_lost int[];
BEGIN
    -- One probe per key. As a condition of the DELETE it would be asked once for every row of the table
    -- whenever the planner believes that to be small. And only above the epoch: max() over the key may be
    -- planned as a walk through all epochs that were removed while an old transaction is open.
    v_lost := ARRAY(
        SELECT k.place
        FROM unnest(p_partitions, p_groups, p_epochs) WITH ORDINALITY AS k(partition_id, group_id, epoch, place)
        WHERE (SELECT true FROM queen.progress later
               WHERE later.partition_id = k.partition_id AND later.group_id = k.group_id
                 AND later.epoch > k.epoch LIMIT 1));
    IF cardinality(v_lost) > 0 THEN   -- rare
        DELETE FROM queen.progress r
        USING unnest(p_partitions, p_groups, p_epochs) WITH ORDINALITY AS k(partition_id, group_id, epoch, place)
        WHERE r.partition_id = k.partition_id AND r.group_id = k.group_id AND r.epoch = k.epoch
          AND k.place = ANY (v_lost);
    END IF;
    RETURN v_lost;
END $$;
