-- Removes entries of the audit trail older than p_days (0 = kept for ever), the oldest first, at most p_limit. Answers
-- how many, and whether there may be more.
CREATE OR REPLACE FUNCTION queen.sweep_audit(p_days int, p_limit int)
RETURNS TABLE (removed int, more boolean) LANGUAGE plpgsql AS $$
BEGIN
    removed := 0;
    IF p_days > 0 THEN
        DELETE FROM queen.audit_trail a WHERE a.id IN (
            SELECT x.id FROM queen.audit_trail x WHERE x.at < clock_timestamp() - p_days * interval '1 day'
            ORDER BY x.at LIMIT p_limit FOR UPDATE SKIP LOCKED);
        GET DIAGNOSTICS removed = ROW_COUNT;
    END IF;
    more := removed = p_limit;
    RETURN NEXT;
END $$;
