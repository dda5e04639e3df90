-- requires: api_time
-- GET /api/v1/audit: entries of the audit trail, the newest first. A filter that is NULL lets all through; p_action
-- takes the beginning of an action's name too ("queue" for queue.delete). p_before is the id of the last entry of the
-- page before, so that a page begins where it ended whatever is written meanwhile.
CREATE OR REPLACE FUNCTION queen.report_audit(p_actor text, p_action text, p_queue text, p_from timestamptz,
                                              p_to timestamptz, p_before uuid, p_limit int)
RETURNS json LANGUAGE sql STABLE AS $$
    WITH page AS (
        SELECT a.* FROM queen.audit_trail a
        WHERE (p_actor IS NULL OR a.actor = p_actor)
          AND (p_action IS NULL OR a.action = p_action OR starts_with(a.action, p_action || '.'))
          AND (p_queue IS NULL OR a.queue = p_queue)
          AND (p_from IS NULL OR a.at >= p_from) AND (p_to IS NULL OR a.at <= p_to)
          AND (p_before IS NULL
               OR (a.at, a.id) < (SELECT b.at, b.id FROM queen.audit_trail b WHERE b.id = p_before))
        ORDER BY a.at DESC, a.id DESC LIMIT p_limit)
    SELECT json_build_object(
        'entries', coalesce(json_agg(json_build_object('id', p.id, 'at', queen.api_time(p.at), 'actor', p.actor,
            'source', p.source, 'tokenId', p.token_id, 'client', p.client, 'broker', p.broker, 'action', p.action,
            'method', p.method, 'path', p.path, 'queue', p.queue, 'status', p.status, 'request', p.request)
            ORDER BY p.at DESC, p.id DESC), '[]'),
        'next', CASE WHEN count(*) = p_limit THEN (array_agg(p.id ORDER BY p.at, p.id))[1] END)
    FROM page p
$$;
