-- first_seq_at: random logs (gaps at the front, clusters, long silences) against a look at every message.
DO $$
DECLARE
    v_id int; v_seq bigint; v_at timestamptz; v_count int; v_asked timestamptz; v_expected bigint; v_answer bigint;
BEGIN
    PERFORM test.seed();
    ASSERT queen.first_seq_at(-1, now()) = 0, 'an empty partition ends at 0';
    FOR id IN 1..40 LOOP
        v_id := id;
        v_seq := CASE WHEN random() < 0.5 THEN 0 ELSE (random() * 1000)::bigint END;
        v_at := '2026-01-01Z';
        FOR i IN 1..(1 + (random() * 30)::int) LOOP
            v_count := 1 + CASE WHEN random() < 0.3 THEN (random() * 200)::int ELSE 0 END;
            v_at := v_at + CASE WHEN random() < 0.5 THEN interval '0' ELSE (random() * 1000)::int * interval '1 microsecond' END;
            INSERT INTO queen.segments (partition_id, base_seq, count, created_at, payloads)
            VALUES (v_id, v_seq, v_count, v_at, 'x');
            v_seq := v_seq + v_count;
            v_at := v_at + v_count * interval '1 microsecond';
        END LOOP;
        FOR i IN 1..100 LOOP
            v_asked := timestamptz '2026-01-01Z' - interval '5 microseconds'
                + (random() * (extract(epoch FROM v_at - timestamptz '2026-01-01Z') * 1000000 + 10)::int)::int * interval '1 microsecond';
            SELECT coalesce(min(s.base_seq + i.i), v_seq) INTO v_expected
            FROM queen.segments s, generate_series(0, s.count - 1) AS i(i)
            WHERE s.partition_id = v_id AND s.created_at + i.i * interval '1 microsecond' >= v_asked;
            v_answer := queen.first_seq_at(v_id, v_asked);
            ASSERT v_answer = v_expected, format('partition %s at %s: %s instead of %s', v_id, v_asked, v_answer, v_expected);
        END LOOP;
    END LOOP;
END $$;
