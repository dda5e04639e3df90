-- require_database: ends the transaction in any database but the one with that id.
DO $$
DECLARE
    v_id uuid;
BEGIN
    PERFORM queen.require_database((SELECT id FROM queen.database_identity));
    FOREACH v_id IN ARRAY ARRAY[gen_random_uuid(), NULL] LOOP
        BEGIN
            PERFORM queen.require_database(v_id);
            RAISE 'another database was taken for this one';
        EXCEPTION WHEN SQLSTATE 'QN013' THEN NULL;
        END;
    END LOOP;
END $$;
