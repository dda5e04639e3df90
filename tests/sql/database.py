"""Databases for the SQL tests: made on the server in QUEEN_TEST_DATABASE_URL, loaded like the broker
loads them: migrations by number, then procedures by their `-- requires:` lines."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SQL = os.path.join(ROOT, 'sql')
TESTS = os.path.join(SQL, 'tests')


def server_url():
    url = os.environ.get('QUEEN_TEST_DATABASE_URL')
    if not url:
        sys.exit('QUEEN_TEST_DATABASE_URL is not set; run this under scripts/with-postgres')
    return url


class Database:
    """A database owned by a plain role: nothing of Queen needs more. superuser_url is for what does."""

    def __init__(self, name):
        self.name = name
        self.superuser_url = re.sub(r'(//[^/]*/)[^?]*', lambda m: m.group(1) + name, server_url())
        self.url = re.sub('//[^@/]*@', '//queen_plain@', self.superuser_url)

    def create(self, template=None):
        self.drop()
        _admin("DO $$ BEGIN IF to_regrole('queen_plain') IS NULL THEN CREATE ROLE queen_plain LOGIN; END IF; END $$")
        _admin(f'CREATE DATABASE {self.name} OWNER queen_plain TEMPLATE {template.name if template else "template0"}')

    def drop(self):
        _admin(f'DROP DATABASE IF EXISTS {self.name}')


def _admin(command):
    subprocess.run(['psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', server_url(), '-c', command], check=True,
                   env=_environment(None))


def _environment(search_path):
    options = os.environ.get('PGOPTIONS', '') + ' -c client_min_messages=warning'
    if search_path:
        options += ' -c search_path=' + search_path.replace(' ', '')
    return dict(os.environ, PGOPTIONS=options, PGCLIENTENCODING='UTF8')


def psql(database, file=None, command=None, check=True, search_path=None, superuser=False):
    """One psql session; errors name the file and the line."""
    url = database.superuser_url if superuser else database.url
    source = ['-f', file] if file else ['-c', command]
    return subprocess.run(['psql', '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', *source, url],
                          check=check, text=True, stdout=subprocess.PIPE if not check else None,
                          stderr=subprocess.PIPE if not check else None, env=_environment(search_path))


def schema_files():
    """Every file of the schema in the order it is loaded."""
    migrations = os.path.join(SQL, 'migrations')
    order = [os.path.join(migrations, f) for f in sorted(os.listdir(migrations)) if f.endswith('.sql')]
    procedures = os.path.join(SQL, 'procedures')
    texts = {f[:-4]: open(os.path.join(procedures, f), encoding='utf-8').read()
             for f in sorted(os.listdir(procedures)) if f.endswith('.sql')}
    done = []

    def visit(name, path):
        if name in path:
            raise SystemExit('requires: a circle ' + ' -> '.join(path + [name]))
        if name in done:
            return
        match = re.search(r'^-- requires: (.*)$', texts[name], re.M)
        for other in (match.group(1).split(',') if match else []):
            visit(other.strip(), path + [name])
        done.append(name)

    for name in texts:
        visit(name, [])
    return order + [os.path.join(procedures, name + '.sql') for name in done]


def load_schema(database):
    psql(database, command='CREATE SCHEMA IF NOT EXISTS queen')
    for file in schema_files():
        psql(database, file=file)
