-- Ids as clients see them; src/base/ids.h has the same packing and sql/tests/ids.sql the same table
-- of examples as ids_test.cc.

-- The id of the message at offset p_seq, created at p_created_at (the message's own time). STABLE as extract of a
-- timestamptz is, so that it is written into the query.
CREATE OR REPLACE FUNCTION queen.message_id(p_created_at timestamptz, p_partition_id int, p_seq bigint)
RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT (lpad(to_hex((floor(extract(epoch FROM p_created_at) * 1000)::bigint << 16)
                        | x'7000'::bigint | (p_partition_id::bigint >> 19)), 16, '0')
         || lpad(to_hex((-9223372036854775807 - 1)::bigint
                        | ((p_partition_id::bigint & 524287) << 43) | p_seq), 16, '0'))::uuid
$$;

CREATE OR REPLACE FUNCTION queen.partition_uuid(p_partition_id int)
RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ('717565656e0080708000' || lpad(to_hex(p_partition_id), 12, '0'))::uuid
$$;

CREATE OR REPLACE FUNCTION queen.queue_uuid(p_queue_id int)
RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ('717565656e0080718000' || lpad(to_hex(p_queue_id), 12, '0'))::uuid
$$;

-- The time inside a transactionId that is a UUIDv7 in text form, NULL for any other text. The
-- broker asks the same question in C++ (TimeInside in src/storage/txn_time.h).
-- Multiplying an interval goes through floating point: seconds stay exact there, milliseconds of a
-- far future would not.
CREATE OR REPLACE FUNCTION queen.uuid7_time(p_txn text)
RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_txn ~ '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-7[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$'
        THEN timestamptz 'epoch'
           + ('x0000' || substr(p_txn, 1, 8) || substr(p_txn, 10, 4))::bit(64)::bigint / 1000
             * interval '1 second'
           + ('x0000' || substr(p_txn, 1, 8) || substr(p_txn, 10, 4))::bit(64)::bigint % 1000
             * interval '1 millisecond'
    END
$$;
