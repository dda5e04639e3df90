// Charts over time. All of them show the same range and the same moment under the pointer; dragging over one sets the
// range for all.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { setRange } from '../hooks';
import { colour, faint } from '../palette';

export interface Line {
  label: string;
  /** A colour of the palette: "line-1" to "line-4". */
  colour: string;
  values: (number | null)[];
}

interface ChartProps {
  title: string;
  times: number[];
  lines: Line[];
  format: (value: number) => string;
  /** The axis reaches at least up to here, so that noise around nothing looks like nothing. */
  least?: number;
}

function timeLabels(ticks: number[]): string[] {
  const days = ticks.length > 1 && (ticks[ticks.length - 1] as number) - (ticks[0] as number) > 100_000;
  let day = '';
  return ticks.map((tick) => {
    const time = new Date(tick * 1000);
    const date = time.toLocaleDateString('en-CA').slice(5);
    const label = days && date !== day ? date : time.toLocaleTimeString('en-GB').slice(0, 5);
    day = date;
    return label;
  });
}

const kHeight = 170;

function make(element: HTMLElement, props: ChartProps, latest: { current: ChartProps }): uPlot {
  const axis = { stroke: colour('muted'), grid: { stroke: colour('grid'), width: 1 }, ticks: { show: false }, font: '11px system-ui' };
  const options: uPlot.Options = {
    width: Math.max(200, element.clientWidth),
    height: kHeight,
    cursor: { sync: { key: 'queen' }, drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
    padding: [10, 20, 0, 0],
    legend: { live: true, markers: { width: 0, fill: (plot, place) => plot.series[place]?.stroke instanceof Function ? String(plot.series[place].stroke(plot, place)) : 'transparent' } },
    scales: { y: { range: (_, low, high) => [Math.min(0, low), Math.max(latest.current.least ?? 1, high * 1.1)] } },
    axes: [{ ...axis, size: 26, values: (_, ticks) => timeLabels(ticks) }, { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => latest.current.format(tick)) }],
    series: [
      { label: 'Time', value: (plot, time, _, place) => (place === null || time === null ? (plot.data[0].length > 0 ? 'latest' : '–') : new Date(time * 1000).toLocaleTimeString('en-GB').slice(0, 5)) },
      ...props.lines.map((line) => ({
        label: line.label,
        stroke: colour(line.colour),
        width: 1.75,
        fill: props.lines.length === 1 ? faint(colour(line.colour)) : undefined,
        points: { show: false },
        // Without a pointer over the chart, the last point is told.
        value: (plot: uPlot, value: number | null, series: number, place: number | null) => {
          const told = place === null ? plot.data[series]?.[plot.data[0].length - 1] : value;
          return told === null || told === undefined ? '–' : latest.current.format(told);
        },
      })),
    ],
    hooks: {
      setSelect: [(plot) => {
        if (plot.select.width < 8) return;
        const from = Math.round(plot.posToVal(plot.select.left, 'x'));
        const to = Math.round(plot.posToVal(plot.select.left + plot.select.width, 'x'));
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        setRange(`${from}-${Math.max(to, from + 120)}`);
      }],
    },
  };
  return new uPlot(options, [props.times, ...props.lines.map((line) => line.values)] as uPlot.AlignedData, element);
}

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const shape = props.lines.map((line) => line.label).join();

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const draw = () => {
      plot.current?.destroy();
      plot.current = make(element, latest.current, latest);
    };
    draw();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(200, element.clientWidth), height: kHeight }));
    resized.observe(element);
    addEventListener('queen-theme', draw);
    return () => {
      resized.disconnect();
      removeEventListener('queen-theme', draw);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);

  useEffect(() => {
    plot.current?.setData([props.times, ...props.lines.map((line) => line.values)] as uPlot.AlignedData);
  }, [props.times, props.lines]);

  const last = props.lines.map((line) => {
    const value = [...line.values].reverse().find((one) => one !== null);
    return `${line.label} ${value === undefined || value === null ? 'unknown' : props.format(value)}`;
  });
  return (
    <figure class="chart">
      <figcaption>{props.title}</figcaption>
      <div class="chart-box" ref={box} role="img" aria-label={`${props.title}: ${last.join(', ')} at last`} />
    </figure>
  );
}

/** A line the size of a word. */
export function Sparkline(props: { values: number[]; label: string }) {
  const most = Math.max(...props.values, 0);
  if (props.values.length < 2 || most === 0) return <span class="spark quiet" role="img" aria-label={`${props.label}: nothing`}>–</span>;
  const step = 96 / (props.values.length - 1);
  const points = props.values.map((value, place) => `${(place * step).toFixed(1)},${(22 - (value / most) * 20).toFixed(1)}`).join(' ');
  return (
    <svg class="spark" viewBox="0 0 96 24" role="img" aria-label={props.label} preserveAspectRatio="none">
      <polyline points={points} />
    </svg>
  );
}
