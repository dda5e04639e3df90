-- bits: random bitmaps against a model that is an array of booleans.
DO $$
DECLARE
    v_bits  bit varying;  v_other bit varying;
    v_text  text;         v_other_text text;
    v_skip  int;          v_n int;  v_places bigint[];
BEGIN
    PERFORM test.seed();
    FOR round IN 1..3000 LOOP
        v_text := (SELECT string_agg(CASE WHEN random() < 0.7 THEN '1' ELSE '0' END, '')
                   FROM generate_series(1, (random() * 40)::int));   -- NULL for none
        v_other_text := (SELECT string_agg(CASE WHEN random() < 0.3 THEN '1' ELSE '0' END, '')
                         FROM generate_series(1, (random() * 40)::int));
        v_bits := v_text::bit varying;
        v_other := v_other_text::bit varying;
        v_skip := (random() * 50)::int;
        v_n := 1 + (random() * 45)::int;

        ASSERT coalesce(queen.bits_from(v_bits, v_skip)::text, '') = substr(coalesce(v_text, ''), v_skip + 1),
            format('bits_from(%s, %s)', v_text, v_skip);
        ASSERT queen.bits_leading(v_bits) = length(coalesce(v_text, '')) - length(ltrim(coalesce(v_text, ''), '1')),
            format('bits_leading(%s)', v_text);
        ASSERT queen.bits_resize(v_bits, v_n)::text = rpad(coalesce(v_text, ''), v_n, '0'),
            format('bits_resize(%s, %s)', v_text, v_n);
        ASSERT coalesce(queen.bits_or(v_bits, v_other)::text, '') = coalesce((
            SELECT string_agg(CASE WHEN substr(coalesce(v_text, ''), i, 1) = '1'
                                     OR substr(coalesce(v_other_text, ''), i, 1) = '1' THEN '1' ELSE '0' END, '' ORDER BY i)
            FROM generate_series(1, greatest(length(v_text), length(v_other_text))) i), ''),
            format('bits_or(%s, %s)', v_text, v_other_text);
        ASSERT queen.bits_get(v_bits, v_skip) = (substr(coalesce(v_text, ''), v_skip + 1, 1) = '1'),
            format('bits_get(%s, %s)', v_text, v_skip);
        -- the place behind the n-th zero: there, n zeros lie before it and the last is just before it
        ASSERT (SELECT length(replace(left(t, p), '1', '')) = v_n AND substr(t, p, 1) = '0'
                FROM (SELECT rpad(coalesce(v_text, ''), 100, '0') AS t, queen.bits_behind_zero(v_bits, v_n) AS p) x),
            format('bits_behind_zero(%s, %s)', v_text, v_n);

        v_places := ARRAY(SELECT DISTINCT (random() * 60)::bigint FROM generate_series(1, (random() * 8)::int));
        v_bits := queen.bits_of(v_places);
        ASSERT (cardinality(v_places) = 0) = (v_bits IS NULL);
        ASSERT v_bits IS NULL OR length(v_bits) = (SELECT max(p) + 1 FROM unnest(v_places) p);
        ASSERT ARRAY(SELECT i FROM generate_series(0, coalesce(length(v_bits), 0) - 1) i WHERE get_bit(v_bits, i) = 1)
             = ARRAY(SELECT p::int FROM unnest(v_places) p ORDER BY 1), format('bits_of(%s)', v_places);
    END LOOP;
    ASSERT queen.bits_get(B'1', -1) = false AND queen.bits_get(B'1', 1) = false AND queen.bits_get(NULL, 0) = false;
    ASSERT queen.bits_from(B'101', 10000000000) IS NULL;
    ASSERT queen.bits_resize(B'101', 0) = B'';
END $$;
