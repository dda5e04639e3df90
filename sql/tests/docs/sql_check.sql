-- What docs/sql.md has left behind when its SQL has run.
RESET ROLE;
DO $$
BEGIN
    ASSERT (SELECT array_agg((partition || ' ' || seq || ' ' || (payload ->> 'state')) ORDER BY seq) FROM queen.messages)
         = ARRAY['ada 0 paid', 'ada 1 shipped'], (SELECT array_agg(m.*::text) FROM queen.messages m)::text;
    ASSERT (SELECT array_agg(id) FROM shop.orders) = '{1}';
    ASSERT (SELECT transaction_id = 'order-1-paid' FROM queen.messages WHERE seq = 0);
END $$;
DROP SCHEMA shop CASCADE;
DROP OWNED BY shop;
DROP ROLE shop;
