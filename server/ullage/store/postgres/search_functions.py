"""What a search asks the database for, several at once: functions, because row-level security reads the query of a
statement from a setting (`row_security.py`), which each query must set again."""

# The condition that a row matches the query `$1`, where no policy has it.
_MATCHES = "CASE WHEN row_security_active('message_words') THEN 'TRUE' ELSE 'tokens @@ $1::tsquery' END"

# Of an expression that many rows match, only rows with the newest ids are looked at first, so many that they should
# have the `limits` twice. Without the index in the order of ids PostgreSQL combines the range of ids with the rows that
# the GIN index gives; with it, it would compare the tokens of row after row.
_FIND = f"""
    CREATE FUNCTION find_rows(
        queries TEXT[], expected BIGINT[], firsts BIGINT[], lasts BIGINT[], limits BIGINT[]
    ) RETURNS SETOF BIGINT[] LANGUAGE plpgsql SET enable_indexscan = off AS $$
    DECLARE
        finding TEXT := 'SELECT ARRAY(SELECT row_id FROM message_words WHERE ' || {_MATCHES}
            || ' AND row_id >= $2 AND row_id <= $3 ORDER BY row_id DESC LIMIT $4)';
        last BIGINT;
        start BIGINT;
        found BIGINT[];
    BEGIN
        FOR n IN 1 .. cardinality(queries) LOOP
            PERFORM set_config('ullage.query', queries[n], true);
            start := firsts[n];
            -- NULL if there is no such row yet, or if the role may not know.
            last := pg_sequence_last_value(CASE WHEN firsts[n] < {1 << 48}
                THEN pg_get_serial_sequence('records', 'record_id')::regclass ELSE 'further_rows'::regclass END);
            IF expected[n] > limits[n] AND last IS NOT NULL THEN
                last := least(last, lasts[n]);
                start := greatest(start, last - (2.0 * limits[n] * (last - firsts[n]) / expected[n])::bigint);
            END IF;
            EXECUTE finding INTO found USING queries[n], start, lasts[n], limits[n];
            IF start > firsts[n] AND cardinality(found) < limits[n] THEN
                EXECUTE finding INTO found USING queries[n], firsts[n], lasts[n], limits[n];
            END IF;
            RETURN NEXT found;
        END LOOP;
        PERFORM set_config('ullage.query', '', true);
    END
    $$
"""
_COUNT = f"""
    CREATE FUNCTION count_matches(queries TEXT[], most BIGINT) RETURNS SETOF BIGINT LANGUAGE plpgsql AS $$
    DECLARE
        counting TEXT := 'SELECT count(*) FROM (SELECT 1 FROM message_words WHERE ' || {_MATCHES} || ' LIMIT $2) AS f';
        found BIGINT;
    BEGIN
        FOR n IN 1 .. cardinality(queries) LOOP
            PERFORM set_config('ullage.query', queries[n], true);
            EXECUTE counting INTO found USING queries[n], most;
            RETURN NEXT found;
        END LOOP;
        PERFORM set_config('ullage.query', '', true);
    END
    $$
"""
SEARCH_FUNCTIONS = (_FIND, _COUNT)
