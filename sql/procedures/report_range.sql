-- The time a report is about, and how wide its points are. Without p_to it ends now, without p_from it begins an hour
-- before its end. The points are p_minutes wide, or as the length asks for: an hour by minutes, a week by hours. They
-- are wider where there would be more than 1,500 of them, or more than 6,200 for p_lines lines together: a page is
-- bounded, whatever is asked for. Those of more than a day are whole hours, which are added up already.
CREATE OR REPLACE FUNCTION queen.lines_range(p_from timestamptz, p_to timestamptz, p_minutes int, p_lines bigint)
RETURNS TABLE (from_time timestamptz, to_time timestamptz, minutes int) LANGUAGE sql STABLE AS $$
    -- the first point may begin before the range, and a minute counts that lies half in it: one point less, one minute more
    SELECT r.from_time, r.to_time, (ceil(w.width / w.unit) * w.unit)::int
    FROM (SELECT t.from_time, t.to_time, extract(epoch FROM t.to_time - t.from_time) / 60 AS length
          FROM (SELECT coalesce(p_from, n.to_time - interval '1 hour') AS from_time, n.to_time
                FROM (SELECT coalesce(p_to, clock_timestamp()) AS to_time OFFSET 0) n) t) r
    CROSS JOIN LATERAL (
        SELECT greatest(coalesce(p_minutes,
                   CASE WHEN r.length <= 60 THEN 1 WHEN r.length <= 360 THEN 5 WHEN r.length <= 1440 THEN 15
                        WHEN r.length <= 10080 THEN 60 ELSE 360 END),
                   (r.length + 1) / (least(1500, greatest(2, 6200 / greatest(p_lines, 1))) - 1), 1) AS width,
               CASE WHEN r.length > 1440 THEN 60 ELSE 1 END AS unit) w
$$;

-- That of a report with one line.
CREATE OR REPLACE FUNCTION queen.report_range(p_from timestamptz, p_to timestamptz, p_minutes int)
RETURNS TABLE (from_time timestamptz, to_time timestamptz, minutes int) LANGUAGE sql STABLE AS $$
    SELECT r.from_time, r.to_time, r.minutes FROM queen.lines_range(p_from, p_to, p_minutes, 1) r
$$;

-- The points of that time, in order: where each begins, and how many of its seconds lie within the range and
-- have passed, at least one. A minute belongs to the range when any part of it does.
CREATE OR REPLACE FUNCTION queen.report_buckets(p_from timestamptz, p_to timestamptz, p_minutes int)
RETURNS TABLE (bucket timestamptz, seconds float8) LANGUAGE sql STABLE AS $$
    SELECT b, greatest(1, extract(epoch FROM
               least(b + w.width, date_trunc('minute', p_to + interval '1 minute' - interval '1 microsecond'),
                     clock_timestamp())
               - greatest(b, date_trunc('minute', p_from))))::float8
    FROM (SELECT p_minutes * interval '1 minute' AS width) w
    CROSS JOIN LATERAL generate_series(date_bin(w.width, date_trunc('minute', p_from), timestamptz 'epoch'),
                                       p_to - interval '1 microsecond', w.width) b
$$;

-- The hours of that time that are added up and lie within it altogether.
CREATE OR REPLACE FUNCTION queen.whole_hours(p_from timestamptz, p_to timestamptz)
RETURNS TABLE (hour timestamptz) LANGUAGE sql STABLE AS $$
    SELECT h.hour FROM queen.hours h WHERE h.hour >= date_trunc('minute', p_from) AND h.hour < p_to - interval '59 minutes'
$$;

-- The same as a range of hours, from first to last, but for those in open. Without any, first and last are NULL.
CREATE OR REPLACE FUNCTION queen.hour_span(p_from timestamptz, p_to timestamptz, OUT first timestamptz, OUT last timestamptz,
                                           OUT open timestamptz[]) LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT min(w.hour), max(w.hour) INTO first, last FROM queen.whole_hours(p_from, p_to) w;
    open := ARRAY(SELECT h FROM generate_series(first, last, interval '1 hour') AS h
                  EXCEPT SELECT w.hour FROM queen.whole_hours(p_from, p_to) w);
END $$;

-- The rest of it, which only the minutes tell; without p_by_hours all of it.
CREATE OR REPLACE FUNCTION queen.other_minutes(p_from timestamptz, p_to timestamptz, p_by_hours boolean)
RETURNS TABLE (from_time timestamptz, to_time timestamptz) LANGUAGE sql STABLE ROWS 10 AS $$
    SELECT date_trunc('minute', p_from), p_to WHERE NOT p_by_hours
    UNION ALL
    SELECT greatest(h.hour, date_trunc('minute', p_from)), least(h.hour + interval '1 hour', p_to)
    FROM (SELECT least((SELECT min(m.minute) FROM queen.broker_minutes m), (SELECT min(m.minute) FROM queen.queue_minutes m)) AS first,
                 greatest((SELECT max(m.minute) FROM queen.broker_minutes m), (SELECT max(m.minute) FROM queen.queue_minutes m)) AS last) t
    CROSS JOIN LATERAL generate_series(
        date_bin('1 hour', greatest(date_trunc('minute', p_from), t.first), timestamptz 'epoch'),
        least(p_to - interval '1 microsecond', t.last), interval '1 hour') AS h(hour)
    WHERE p_by_hours AND t.first IS NOT NULL AND h.hour NOT IN (SELECT w.hour FROM queen.whole_hours(p_from, p_to) w)
$$;
