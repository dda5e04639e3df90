-- Lets the commit of this transaction wait for the synchronous standby although it changes nothing. For answers
-- about what others have committed: their own wait may have been cancelled, and then a failover still loses what
-- they wrote. Only a transaction that has written waits, for its own record and for all before it.
CREATE OR REPLACE FUNCTION queen.await_standby()
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_logical_emit_message(true, 'queen', '');
END $$;
