-- requires: bits, item_verdicts
-- What the verdicts of one key of ack_messages come to under its lease [p_cursor, p_lease_end). The arguments
-- are as there and in queen.progress, all NULL when p_valid is not true; the bitmaps count from the cursor.
--   new_cursor, new_settled, new_failed   the state behind the verdicts, NULL for bitmaps without a 1
--   released                              the lease ends
--   any_failed, dead_*                    as in item_verdicts
--   tried_*                               failures so far of messages not settled
-- In plpgsql, step by step: as one expression of ack_messages it would cost several times as much.
CREATE OR REPLACE FUNCTION queen.apply_verdicts(
    p_valid boolean, p_cursor bigint, p_lease_end bigint, p_settled bit varying, p_failed bit varying,
    p_attempt_seqs bigint[], p_attempt_counts int[], p_retry_limit int,
    p_base bigint, p_done bit varying, p_cumulative bigint, p_retry_from bigint, p_ends boolean,
    p_item_seqs bigint[], p_item_kinds text[], p_item_errors text[],
    OUT new_cursor bigint, OUT new_settled bit varying, OUT new_failed bit varying, OUT released boolean,
    OUT any_failed boolean, OUT tried_seqs bigint[], OUT tried_counts int[],
    OUT dead_seqs bigint[], OUT dead_errors text[], OUT dead_counts int[])
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_span    int;           -- of the lease
    v_done    bit varying;   -- completed, singly or cumulatively
    v_upto    bigint := CASE WHEN p_cumulative < p_lease_end THEN p_cumulative END;
    v_item    record;
    v_leading int;
BEGIN
    IF p_valid IS NOT TRUE THEN RETURN; END IF;
    v_span := p_lease_end - p_cursor;
    released := coalesce(p_ends, false)
        OR coalesce(p_retry_from >= p_cursor AND p_retry_from < p_lease_end
                    AND NOT queen.bits_get(p_settled, p_retry_from - p_cursor)
                    AND NOT queen.bits_get(p_failed, p_retry_from - p_cursor), false);
    new_settled := p_settled;
    new_failed := p_failed;
    any_failed := false;

    IF p_base >= p_cursor THEN
        v_done := repeat('0', least(p_base - p_cursor, v_span)::int)::bit varying || p_done;
    ELSE
        v_done := queen.bits_from(p_done, p_cursor - p_base);
    END IF;

    IF cardinality(p_item_seqs) > 0 OR p_attempt_seqs IS NOT NULL THEN
        v_item := queen.item_verdicts(p_item_seqs, p_item_kinds, p_item_errors, p_cursor, p_lease_end,
                                      p_settled, p_failed, p_attempt_seqs, p_attempt_counts, p_retry_limit);
        any_failed := v_item.any_failed;
        dead_seqs := v_item.dead_seqs;
        dead_errors := v_item.dead_errors;
        dead_counts := v_item.dead_counts;
        tried_seqs := v_item.tried_seqs;
        tried_counts := v_item.tried_counts;
        released := released OR v_item.retried;
        v_upto := greatest(v_upto, v_item.cumulative);
        new_failed := queen.bits_or(p_failed, v_item.failed);
        new_settled := queen.bits_or(p_settled, v_item.dead);
    END IF;

    IF v_upto >= p_cursor THEN
        v_done := queen.bits_or(v_done, repeat('1', (v_upto - p_cursor + 1)::int)::bit varying);
    END IF;
    IF v_done IS NOT NULL THEN
        v_done := queen.bits_resize(v_done, v_span);
        IF new_failed IS NOT NULL THEN   -- what failed in this lease is not completed under it
            v_done := v_done & ~queen.bits_resize(new_failed, v_span);
        END IF;
        new_settled := queen.bits_or(new_settled, v_done);
    END IF;

    v_leading := queen.bits_leading(new_settled);
    new_cursor := p_cursor + v_leading;
    IF v_leading > 0 THEN
        new_settled := queen.bits_from(new_settled, v_leading);
        new_failed := queen.bits_from(new_failed, v_leading);
    END IF;
    IF bit_count(new_settled) = 0 THEN new_settled := NULL; END IF;
    IF bit_count(new_failed) = 0 THEN new_failed := NULL; END IF;
    v_span := p_lease_end - new_cursor;   -- what is left of it
    IF NOT released AND (v_span <= 0 OR bit_count(queen.bits_resize(queen.bits_or(new_settled, new_failed), v_span)) = v_span) THEN
        released := true;
    END IF;

    IF tried_seqs IS NOT NULL THEN
        SELECT array_agg(o.seq ORDER BY o.seq), array_agg(o.failures ORDER BY o.seq) INTO tried_seqs, tried_counts
        FROM unnest(tried_seqs, tried_counts) AS o(seq, failures)
        WHERE o.seq >= new_cursor AND NOT queen.bits_get(new_settled, o.seq - new_cursor);
    END IF;
END $$;
