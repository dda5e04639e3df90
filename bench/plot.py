"""Line charts as SVG, without a plotting library: what `make bench` draws its results with.

A chart is a title, two axis labels and series of (x, y) points; axes are linear or logarithmic.
Colours are from a palette that readers with colour blindness can tell apart.
"""
import html
import math

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 80, 24, 48, 64
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]


def short(value):
    """A number for an axis: 1500000 -> 1.5M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def linear_ticks(low, high, count=6):
    span = high - low or 1
    step = 10 ** math.floor(math.log10(span / count))
    for factor in (1, 2, 5, 10):
        if span / (step * factor) <= count:
            step *= factor
            break
    first = math.ceil(low / step)
    return [step * i for i in range(first, math.floor(high / step) + 1)]


def log_ticks(low, high):
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10**i for i in range(first, last + 1) if low <= 10**i * 1.0001 and 10**i <= high * 1.0001]


class Axis:
    def __init__(self, values, log, start, end, from_zero):
        self.log, self.start, self.end = log, start, end
        low, high = min(values), max(values)
        if log:
            self.low, self.high = low, high if high > low else low * 10
            self.ticks = log_ticks(self.low, self.high) or [self.low]
        else:
            self.low = 0 if from_zero else low
            self.high = high * 1.05 if high > self.low else self.low + 1
            self.ticks = linear_ticks(self.low, self.high)

    def place(self, value):
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def line_chart(title, x_label, y_label, series, log_x=False, log_y=False):
    """`series`: {name: [(x, y), ...]}, none of them empty. Returns the SVG's text."""
    points = [point for line in series.values() for point in line]
    x = Axis([p[0] for p in points], log_x, LEFT, WIDTH - RIGHT, False)
    y = Axis([p[1] for p in points], log_y, HEIGHT - BOTTOM, TOP, True)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{html.escape(title)}</text>',
    ]
    for tick in x.ticks:
        at = x.place(tick)
        out.append(f'<path d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#e5e5e5"/>')
        out.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{short(tick)}</text>')
    for tick in y.ticks:
        at = y.place(tick)
        out.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#e5e5e5"/>')
        out.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{short(tick)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    out.append(f'<text x="{middle}" y="{HEIGHT - 14}" text-anchor="middle">{html.escape(x_label)}</text>')
    out.append(f'<text transform="translate(18 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">{html.escape(y_label)}</text>')
    for number, (name, line) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{x.place(a):.1f},{y.place(b):.1f}" for a, b in line)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for a, b in line:
            out.append(f'<circle cx="{x.place(a):.1f}" cy="{y.place(b):.1f}" r="3" fill="{colour}"/>')
        place = LEFT + number * 150
        out.append(f'<rect x="{place}" y="32" width="10" height="10" fill="{colour}"/>')
        out.append(f'<text x="{place + 15}" y="41">{html.escape(name)}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
