-- The least and greatest time inside the transactionIds of a segment, so that the search for a stored id
-- splits only the segments that may hold it (find_transactions). infinity and -infinity: it has none
-- with a time inside. NULL: no transactionIds, or written before these columns were: searched.
ALTER TABLE queen.segments ADD COLUMN time_min timestamptz, ADD COLUMN time_max timestamptz;
