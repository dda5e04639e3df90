-- Whether a group is that of a `queen tail`, which looks on and consumes nothing: neither maxSize nor the retention of
-- consumed messages waits for it, since nobody may know that it is still there.
CREATE OR REPLACE FUNCTION queen.is_tail(p_group text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT starts_with(p_group, 'queen-tail-')
$$;
