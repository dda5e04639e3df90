"""`cmake --install`: what it puts where, for a prefix and a DESTDIR."""

import gzip
import os
import shutil
import subprocess

import pytest

from support.broker import REPOSITORY, binary
from support.process import run

BUILD = os.path.dirname(binary())


def install(directory, prefix):
    run(["cmake", "--install", BUILD, "--prefix", prefix], env=os.environ | {"DESTDIR": directory})


def read(directory, path):
    with open(directory + path, encoding="utf-8") as file:
        return file.read()


def test_everything_is_there(directory):
    install(directory, "/usr/local")
    version = run([directory + "/usr/local/bin/queen", "version"])[1]
    assert version == run([binary(), "version"])[1]
    assert "User=queen" in read(directory, "/usr/local/lib/systemd/system/queen.service")
    assert "ExecStart=/usr/local/bin/queen serve" in read(directory, "/usr/local/lib/systemd/system/queen.service")
    assert "EnvironmentFile=/etc/queen/queen.env" in read(directory, "/usr/local/lib/systemd/system/queen.service")
    assert os.stat(directory + "/etc/queen/queen.env").st_mode & 0o777 == 0o600, "passwords go into it"
    assert "Apache License" in read(directory, "/usr/local/share/doc/queen/LICENSE")
    assert "# Queen" in read(directory, "/usr/local/share/doc/queen/README.md")
    assert os.path.isdir(directory + "/usr/local/share/doc/queen/docs")


def test_settings_that_are_there_stay(directory):
    install(directory, "/usr/local")
    with open(directory + "/etc/queen/queen.env", "a", encoding="ascii") as file:
        file.write("PORT=7000\n")
    install(directory, "/usr/local")
    assert read(directory, "/etc/queen/queen.env").endswith("PORT=7000\n")


def test_a_prefix_of_ones_own_has_all_below_it(directory):
    install("", directory + "/mine")
    unit = read(directory, "/mine/lib/systemd/system/queen.service")
    assert f"ExecStart={directory}/mine/bin/queen serve" in unit
    assert f"EnvironmentFile={directory}/mine/etc/queen/queen.env" in unit
    assert os.path.exists(directory + "/mine/etc/queen/queen.env")


def test_the_settings_file_names_only_settings_that_exist(directory):
    install(directory, "/usr/local")
    file = os.path.join(directory, "settings")
    with open(file, "w", encoding="utf-8") as uncommented:
        for line in read(directory, "/etc/queen/queen.env").splitlines():
            if line.startswith("#") and "=" in line and " " not in line.split("=")[0]:
                line = line[1:] + ("x" * 64 if line.endswith(("SECRET=", "PASSWORD=")) else "")
                uncommented.write(line.replace("KEY=", "KEY=" + "ab" * 32) + "\n")
    code, output = run([binary(), "config", "--config", file], check=False)
    assert code == 0, output
    assert output.count(file) >= 6, "each of them is taken from the file"


def test_the_man_page_is_sound_and_names_every_command(directory):
    install(directory, "/usr/local")
    with gzip.open(directory + "/usr/local/share/man/man1/queen.1.gz", "rt", encoding="utf-8") as file:
        page = file.read()
    for line in run([binary(), "help"])[1].splitlines():
        if line.startswith("  ") and line.split()[0] != "help":
            assert f".Ss {line.split()[0]}\n" in page, line
    assert "QUEEN\\_DATA\\_DIR" in page or "QUEEN_DATA_DIR" in page
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed, so nobody judges the page")
    found = subprocess.run(["mandoc", "-Tlint", "-Wwarning"], input=page, capture_output=True, text=True, check=False)
    assert found.returncode == 0 and found.stdout == "", found.stdout


def test_make_install_uses_prefix_and_destdir():
    said = run(["make", "--no-print-directory", "-C", REPOSITORY, "-n", "install", "PREFIX=/opt/q", "DESTDIR=/d"])[1]
    assert "DESTDIR=/d cmake --install build --prefix /opt/q" in said
