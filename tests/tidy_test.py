"""scripts/tidy finds what it says it finds. Each case is a tree of files and the findings."""
import os
import subprocess
import tempfile
import unittest

TIDY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts", "tidy")
GOOD_HEADER = "// What it is for.\n#pragma once\n"


def findings(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        run = subprocess.run([TIDY, "--root", root], capture_output=True, text=True, check=False)
        assert run.stderr == "", run.stderr
        assert run.returncode == (1 if run.stdout else 0)
        return run.stdout.splitlines()


class Tidy(unittest.TestCase):
    def check(self, files, *expected):
        self.assertEqual(findings(files), list(expected))

    def test_a_clean_tree(self):
        self.check({
            "src/base/a.h": GOOD_HEADER,
            "src/base/a.cc": '#include "base/a.h"\n',
            "src/http/b_test.cc": '#include <llhttp.h>\n#include "base/a.h"\n',
            "docs/a.md": "[a](../src/base/a.h#L1) [b](https://example.org) `[c](d)`\n",
            "Makefile": "all:\n\ttrue\n",
        })

    def test_includes_point_downwards(self):
        self.check({"src/base/a.cc": '// A.\n#include "http/b.h"\n', "src/http/b.h": GOOD_HEADER},
                   "src/base/a.cc:2: src/base may not include src/http")
        self.check({"src/http/a.cc": '// A.\n#include "pg/b.h"\n', "src/pg/b.h": GOOD_HEADER},
                   "src/http/a.cc:2: src/http may not include src/pg")
        self.check({"src/pg/a.cc": '// A.\n#include "b.h"\n', "src/pg/b.h": GOOD_HEADER},
                   'src/pg/a.cc:2: "b.h" is no file below src/')
        self.check({"src/new/a.cc": "// A.\n"},
                   "src/new/a.cc:1: scripts/tidy does not know the directory src/new; "
                   "add it to its table")

    def test_libraries_stay_where_they_are(self):
        self.check({"src/api/a.cc": "// A.\n#include <libpq-fe.h>\n"},
                   "src/api/a.cc:2: libpq-fe.h may only be included in src/pg/, src/embedded/")
        self.check({"src/base/a.cc": "// A.\n#include <spdlog/spdlog.h>\n"},
                   "src/base/a.cc:2: spdlog/spdlog.h may only be included in src/base/log.cc")

    def test_form(self):
        self.check({"src/base/a.h": "#pragma once\n"},
                   "src/base/a.h:1: the comment that says what this file is for is missing")
        self.check({"src/base/a.h": "// A.\n"}, "src/base/a.h:1: #pragma once is missing")
        self.check({"src/base/a.cc": "int a;\n"},
                   "src/base/a.cc:1: the comment that says what this file is for is missing")

    def test_lines(self):
        self.check({"src/base/a.cc": "// A. \n\tint a;"},
                   "src/base/a.cc:2: no newline at the end of the file",
                   "src/base/a.cc:1: white space at the end of the line",
                   "src/base/a.cc:2: a tab; indent with spaces")
        self.check({"sql/a.sql": "\n" * 601}, "sql/a.sql:601: more than 600 lines; a file has one subject")
        unfinished = "TO" + "DO"
        self.check({"docs/a.md": unfinished + "\n"},
                   f"docs/a.md:1: {unfinished}: finish it or write it down elsewhere")

    def test_links(self):
        self.check({"docs/a.md": "see [b](b.md)\n```\n[c](c.md)\n```\n"},
                   "docs/a.md:1: the link to b.md leads nowhere")

    def test_anchors(self):
        page = "# A `b`, c\n## Twice\n## Twice\n```\n# no heading\n```\n<a id=\"own\"></a>\n"
        self.check({"docs/a.md": page,
                    "docs/b.md": "[a](a.md#a-b-c) [a](a.md#twice-1) [a](a.md#own) [b](#no-heading) [a](a.md#no-heading)\n"},
                   "docs/b.md:1: the link to #no-heading names no heading of that page",
                   "docs/b.md:1: the link to a.md#no-heading names no heading of that page")

    def test_procedures_are_called_in_one_place(self):
        tree = {"sql/procedures/push.sql": "CREATE OR REPLACE FUNCTION queen.push() ...\n",
                "src/storage/a.cc": '// A.\nauto a = "queen.push";\n',
                "src/api/a.cc": '// A.\nauto a = "select queen.push()";  // queen.push\n',
                "src/api/b.cc": '// A.\nauto a = "queen.conf";\n'}
        self.check(tree, "src/api/a.cc:2: queen.push is called outside of src/storage")


if __name__ == "__main__":
    unittest.main()
