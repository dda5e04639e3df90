-- Ends the transaction unless this is the database with that id: what a broker has buffered for one database is
-- stored in no other, wherever the connection leads.
CREATE OR REPLACE FUNCTION queen.require_database(p_id uuid)
RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_id IS DISTINCT FROM (SELECT d.id FROM queen.database_identity d) THEN
        RAISE EXCEPTION 'this is not the database %', p_id USING ERRCODE = 'QN013';
    END IF;
END $$;
