"""What a broker says at /metrics/prometheus, as numbers."""

import re

SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Scrape:
    """Made of the text; `families` is name -> (type, help)."""

    def __init__(self, text):
        self.text = text
        self.families = {}
        self.samples = []  # (name, labels, value)
        helps = dict(re.findall(r"^# HELP (\w+) (.*)$", text, re.MULTILINE))
        for name, kind in re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE):
            self.families[name] = (kind, helps.get(name, ""))
        for line in text.splitlines():
            if not line.startswith("#"):
                name, labels, value = SAMPLE.match(line).groups()
                self.samples.append((name, dict(LABEL.findall(labels or "")), float(value)))

    @classmethod
    def of(cls, broker):
        """A scrape of the broker."""
        reply = broker.get("/metrics/prometheus")
        assert reply.status == 200, reply
        assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        return cls(reply.body.decode())

    def sum(self, name, **labels):
        """Of all series of that name with these labels; 0 when there is none."""
        return sum(value for its_name, its_labels, value in self.samples
                   if its_name == name and labels.items() <= its_labels.items())

    def has(self, name, **labels):
        """Is there such a series?"""
        return any(its_name == name and labels.items() <= its_labels.items()
                   for its_name, its_labels, _ in self.samples)

    def names(self):
        """Every name that an expression may use."""
        names = set()
        for name, (kind, _) in self.families.items():
            suffixes = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
            names.update(name + suffix for suffix in suffixes)
        return names
