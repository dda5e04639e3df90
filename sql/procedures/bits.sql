-- Bitmaps over offsets. NULL is the empty bitmap; bits past the end are 0. In plpgsql because its
-- calls cost a tenth of those of SQL functions that the planner does not inline.

-- The bitmap as seen from p_skip bits further on.
CREATE OR REPLACE FUNCTION queen.bits_from(p_bits bit varying, p_skip bigint)
RETURNS bit varying LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    RETURN CASE WHEN p_skip < length(p_bits) THEN substring(p_bits FROM p_skip::int + 1) END;
END $$;

-- How many 1 bits stand at the front.
CREATE OR REPLACE FUNCTION queen.bits_leading(p_bits bit varying)
RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN CASE WHEN p_bits IS NULL THEN 0
                WHEN position(B'0' IN p_bits) = 0 THEN length(p_bits)
                ELSE position(B'0' IN p_bits) - 1 END;
END $$;

-- The bit at p_place (0 = first).
CREATE OR REPLACE FUNCTION queen.bits_get(p_bits bit varying, p_place bigint)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN CASE WHEN p_bits IS NULL OR p_place < 0 OR p_place >= length(p_bits) THEN false
                ELSE get_bit(p_bits, p_place::int) = 1 END;
END $$;

-- Exactly p_length bits: cut or filled up with 0.
CREATE OR REPLACE FUNCTION queen.bits_resize(p_bits bit varying, p_length int)
RETURNS bit varying LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN substring(coalesce(p_bits, B'') || repeat('0', p_length)::bit varying FROM 1 FOR p_length);
END $$;

-- Both together, as long as the longer one.
CREATE OR REPLACE FUNCTION queen.bits_or(p_a bit varying, p_b bit varying)
RETURNS bit varying LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN CASE WHEN p_a IS NULL THEN p_b WHEN p_b IS NULL THEN p_a
        WHEN length(p_a) = length(p_b) THEN p_a | p_b
        ELSE queen.bits_resize(p_a, greatest(length(p_a), length(p_b)))
           | queen.bits_resize(p_b, greatest(length(p_a), length(p_b))) END;
END $$;

-- The bitmap with a 1 at each of the given places (0 = first); NULL when there are none.
CREATE OR REPLACE FUNCTION queen.bits_of(p_places bigint[])
RETURNS bit varying LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    RETURN (SELECT string_agg(CASE WHEN i IN (SELECT unnest(p_places)) THEN '1' ELSE '0' END, '' ORDER BY i)::bit varying
    FROM generate_series(0, (SELECT max(place) FROM unnest(p_places) AS place)) AS i);
END $$;

-- The place just behind the p_n-th 0 bit (p_n >= 1), counting the endless zeros past the end.
CREATE OR REPLACE FUNCTION queen.bits_behind_zero(p_bits bit varying, p_n int)
RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF p_bits IS NULL THEN RETURN p_n; END IF;
    IF bit_count(p_bits) = 0 THEN RETURN p_n; END IF;
    RETURN coalesce((SELECT i + 1 FROM generate_series(0, length(p_bits) - 1) AS i
                     WHERE get_bit(p_bits, i) = 0 ORDER BY i OFFSET p_n - 1 LIMIT 1),
                    p_n + bit_count(p_bits)::int);
END $$;
