from support.fixtures import closing, directory, make_broker, make_postgres, make_proxy, postgres  # noqa: F401
