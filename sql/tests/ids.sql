-- ids: the same table as src/base/ids_test.cc (Ids, KnownValues), and uuid7_time.
DO $$
DECLARE
    v_time CONSTANT timestamptz := timestamptz 'epoch' + 1769903999123 * interval '1 millisecond';
BEGIN
    ASSERT queen.message_id(v_time, 1, 0) = '019c167f-c893-7000-8000-080000000000';
    ASSERT queen.message_id(v_time, 2147483647, (1::bigint << 43) - 1) = '019c167f-c893-7fff-bfff-ffffffffffff';
    ASSERT queen.partition_uuid(1) = '71756565-6e00-8070-8000-000000000001';
    ASSERT queen.queue_uuid(255) = '71756565-6e00-8071-8000-0000000000ff';
    -- microseconds are cut, never rounded up into the next millisecond
    ASSERT queen.message_id(v_time + interval '999 microseconds', 1, 0) = queen.message_id(v_time, 1, 0);
END $$;

-- I1: inside a partition ids sort in delivery order.
DO $$
BEGIN
    ASSERT queen.message_id('2026-01-01 00:00:00.1Z', 7, 41) < queen.message_id('2026-01-01 00:00:00.1Z', 7, 42);
    ASSERT queen.message_id('2026-01-01 00:00:00.1Z', 7, (1::bigint << 43) - 1)
         < queen.message_id('2026-01-01 00:00:00.101Z', 7, 0);
    ASSERT queen.uuid7_time(queen.message_id('2026-01-01 00:00:00.123456Z', 7, 41)::text) = '2026-01-01 00:00:00.123Z';
END $$;

-- uuid7_time: either case, strictly the text form, version 7 and variant 2 only.
DO $$
BEGIN
    ASSERT queen.uuid7_time('019c167f-c893-7000-8000-080000000000') = timestamptz 'epoch' + 1769903999123 * interval '1 ms';
    ASSERT queen.uuid7_time('019C167F-C893-7000-A000-080000000000') = timestamptz 'epoch' + 1769903999123 * interval '1 ms';
    ASSERT queen.uuid7_time('ffffffff-ffff-7fff-bfff-ffffffffffff') IS NOT NULL, 'the greatest time is no error';
    ASSERT queen.uuid7_time('019c167f-c893-4000-8000-080000000000') IS NULL;
    ASSERT queen.uuid7_time('019c167f-c893-7000-c000-080000000000') IS NULL;
    ASSERT queen.uuid7_time('{019c167f-c893-7000-8000-080000000000}') IS NULL;
    ASSERT queen.uuid7_time('019c167fc89370008000080000000000') IS NULL;
    ASSERT queen.uuid7_time('019c167f-c893-7000-8000-080000000000 ') IS NULL;
    ASSERT queen.uuid7_time(E'019c167f-c893-7000-8000-080000000000\n') IS NULL;
    ASSERT queen.uuid7_time('') IS NULL AND queen.uuid7_time('order-1') IS NULL AND queen.uuid7_time(NULL) IS NULL;
END $$;
