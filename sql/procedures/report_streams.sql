-- requires: api_time, ids
-- Streaming queries for people: their list, and one of them.

-- How many rows a query keeps, in one partition or in all (NULL); 10,000 is as far as it counts.
CREATE OR REPLACE FUNCTION queen.stream_state_rows(p_query uuid, p_partition int) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT count(*) FROM (
        SELECT FROM queen.stream_state s WHERE s.query_id = p_query AND (p_partition IS NULL OR s.partition_id = p_partition) LIMIT 10000) counted
$$;

-- The streaming queries by name, one page. Rows of state are counted up to 10,000: more is said as 10,000.
CREATE OR REPLACE FUNCTION queen.report_streams(p_limit int, p_offset int) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object(
        'queries', coalesce((
            SELECT json_agg(json_build_object(
                'id', c.id, 'name', c.name, 'sourceQueue', c.source_queue, 'sinkQueue', c.sink_queue, 'configHash', c.config_hash,
                'createdAt', queen.api_time(c.created_at), 'stateRows', queen.stream_state_rows(c.id, NULL)) ORDER BY c.name)
            FROM (SELECT q.* FROM queen.stream_queries q ORDER BY q.name LIMIT p_limit OFFSET p_offset) c), '[]'),
        'pagination', json_build_object('limit', p_limit, 'offset', p_offset))
$$;

-- One query with the first hundred partitions in which it remembers something; NULL if there is no such query.
CREATE OR REPLACE FUNCTION queen.report_stream(p_query text) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object(
        'id', q.id, 'name', q.name, 'sourceQueue', q.source_queue, 'sinkQueue', q.sink_queue, 'configHash', q.config_hash,
        'createdAt', queen.api_time(q.created_at),
        'partitions', coalesce((
            WITH RECURSIVE held(id) AS (
                SELECT (SELECT min(s.partition_id) FROM queen.stream_state s WHERE s.query_id = q.id)
                UNION ALL
                SELECT (SELECT min(s.partition_id) FROM queen.stream_state s WHERE s.query_id = q.id AND s.partition_id > h.id)
                FROM held h WHERE h.id IS NOT NULL)
            SELECT json_agg(json_build_object('partitionId', queen.partition_uuid(p.id), 'partition', p.name,
                                              'rows', queen.stream_state_rows(q.id, p.id)) ORDER BY p.name)
            FROM (SELECT h.id FROM held h WHERE h.id IS NOT NULL LIMIT 100) first JOIN queen.partitions p ON p.id = first.id), '[]'))
    FROM queen.stream_queries q WHERE q.id::text = lower(p_query)
$$;
