-- A family is what a pop by namespace and/or task names: every queue of it, also those not made yet.
-- A group's start on a family is recorded at its first pop of it (find_family).
CREATE TABLE queen.families (
    id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace  text COLLATE "C",  -- NULL: any
    task       text COLLATE "C",  -- NULL: any
    group_name text COLLATE "C" NOT NULL,
    start_mode text NOT NULL CHECK (start_mode IN ('all', 'new', 'time')),
    start_time timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK (namespace IS NOT NULL OR task IS NOT NULL)
);
CREATE UNIQUE INDEX families_key ON queen.families
    (group_name, coalesce(namespace, ''), coalesce(task, ''), (namespace IS NULL), (task IS NULL));
-- Which families a new queue belongs to.
CREATE INDEX families_namespace_task ON queen.families (namespace, task);

-- The queues a family's record has been applied to: the group has, or had, its start there. A queue of
-- the family that is missing here was made beside the record, and is read from its start.
CREATE TABLE queen.family_queues (
    family_id int NOT NULL,
    queue_id  int NOT NULL,
    PRIMARY KEY (queue_id, family_id)
);
CREATE INDEX family_queues_family ON queen.family_queues (family_id);
