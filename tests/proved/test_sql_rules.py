"""Each proved rule that lives in SQL is taken out, alone, in a database of its own, and the tests named for
it must fail and show what they were written to show. With all rules in, the same tests pass."""
import os
import re

import pytest

import broker_rules
import consumption_rules
import log_rules
import specs
from database import Database, TESTS, load_schema, psql
from rule import REPOSITORY, edited

RULES = log_rules.RULES + consumption_rules.RULES


@pytest.fixture(scope='module')
def template(sql_server):
    """A database with the schema and the helpers of the SQL tests."""
    made = Database('proved_template')
    made.create()
    load_schema(made)
    psql(made, file=os.path.join(TESTS, '_support.sql'))
    return made


@pytest.fixture
def copies(template):
    """copies(n) -> the n-th fresh copy; the server goes away with all of them."""
    def make(number):
        database = Database(f'proved_{number}')
        database.create(template)
        return database
    return make


def failure(database, test):
    """What a test shows when it fails; empty when it passes."""
    kind, name = test.split('/')
    if kind == 'isolation':
        return '\n'.join(specs.run(database, name))
    result = psql(database, file=os.path.join(TESTS, name + '.sql'), check=False, search_path='public, test')
    return result.stdout + result.stderr if result.returncode != 0 else ''


def test_every_rule_has_a_name_of_its_own():
    names = [rule.name for rule in RULES + broker_rules.RULES]
    assert len(set(names)) == len(names)


def test_the_documentation_names_every_rule():
    with open(os.path.join(REPOSITORY, 'docs', 'proved-rules.md'), encoding='utf-8') as file:
        tables = ''.join(line for line in file if line.startswith('| '))
    named = re.findall(r'`(\w+)`', '\n'.join(row.split('|')[2] for row in tables.splitlines()))
    assert sorted(named) == sorted(rule.name for rule in RULES + broker_rules.RULES)


@pytest.mark.parametrize('test', sorted({test for rule in RULES for test in rule.tests}))
def test_passes_with_every_rule(copies, test):
    shown = failure(copies(0), test)
    assert not shown, shown


@pytest.mark.parametrize('rule', RULES, ids=lambda rule: rule.name)
def test_fails_without(copies, tmp_path, rule):
    changed = []
    for path, text in edited(rule.edits).items():
        changed.append(tmp_path / os.path.basename(path))
        changed[-1].write_text(text, encoding='utf-8')
    for number, test in enumerate(rule.tests):
        database = copies(number)
        for path in changed:
            psql(database, file=str(path))
        if rule.sql:
            psql(database, command=rule.sql)
        shown = failure(database, test)
        assert shown, f'{rule.text} Without this rule {test} passes.'
        assert re.search(rule.seen, shown), f'{test} fails, but does not show {rule.seen}:\n{shown}'
