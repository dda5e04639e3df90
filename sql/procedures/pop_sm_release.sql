-- requires: ack_messages
-- Gives leases back as if they had not been taken: for pops whose client went away.
CREATE OR REPLACE FUNCTION queen.pop_sm_release(p_partitions int[], p_groups int[], p_leases uuid[])
RETURNS TABLE (ordinal int, state text) LANGUAGE sql AS $$
    SELECT a.ordinal, a.state
    FROM queen.ack_messages(NULL, NULL, p_partitions, p_groups, p_leases,
        array_fill(0::bigint, ARRAY[cardinality(p_partitions)]), array_fill(NULL::text, ARRAY[cardinality(p_partitions)]),
        array_fill(NULL::bigint, ARRAY[cardinality(p_partitions)]), array_fill(NULL::bigint, ARRAY[cardinality(p_partitions)]),
        array_fill(true, ARRAY[cardinality(p_partitions)]),
        '{}', '{}', '{}', '{}') a
$$;
