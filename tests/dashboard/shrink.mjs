// Makes a screenshot small: a PNG of at most 256 colours. The pages have few colours and the edges of letters; what is
// beyond the most frequent ones becomes the nearest of them.
import { deflateSync, inflateSync } from 'node:zlib';

function readPng(png) {
  let place = 8;
  let header;
  const data = [];
  while (place < png.length) {
    const size = png.readUInt32BE(place);
    const kind = png.toString('latin1', place + 4, place + 8);
    const body = png.subarray(place + 8, place + 8 + size);
    if (kind === 'IHDR') header = { width: body.readUInt32BE(0), height: body.readUInt32BE(4), depth: body[8], type: body[9] };
    if (kind === 'IDAT') data.push(body);
    place += size + 12;
  }
  if (header.depth !== 8 || (header.type !== 2 && header.type !== 6)) throw new Error('not a PNG of a screenshot');
  const bytes = header.type === 6 ? 4 : 3;
  const line = header.width * bytes;
  const raw = inflateSync(Buffer.concat(data));
  const pixels = Buffer.alloc(line * header.height);
  for (let y = 0; y < header.height; ++y) {
    const filter = raw[y * (line + 1)];
    for (let x = 0; x < line; ++x) {
      const left = x >= bytes ? pixels[y * line + x - bytes] : 0;
      const up = y > 0 ? pixels[(y - 1) * line + x] : 0;
      const corner = x >= bytes && y > 0 ? pixels[(y - 1) * line + x - bytes] : 0;
      let guess = [0, left, up, (left + up) >> 1][filter];
      if (filter === 4) {
        const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
        guess = a <= b && a <= c ? left : b <= c ? up : corner;
      }
      pixels[y * line + x] = (raw[y * (line + 1) + 1 + x] + guess) & 255;
    }
  }
  return { ...header, bytes, pixels };
}

const table = Array.from({ length: 256 }, (_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; ++bit) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value >>> 0;
});

function chunk(kind, body) {
  const named = Buffer.concat([Buffer.from(kind, 'latin1'), body]);
  let sum = 0xffffffff;
  for (const byte of named) sum = table[(sum ^ byte) & 255] ^ (sum >>> 8);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(body.length, 0);
  ends.writeUInt32BE((sum ^ 0xffffffff) >>> 0, 4);
  return Buffer.concat([ends.subarray(0, 4), named, ends.subarray(4)]);
}

export function shrink(png, colours = 64) {
  const { width, height, bytes, pixels } = readPng(png);
  const counts = new Map();
  for (let i = 0; i < pixels.length; i += bytes) {
    const colour = (pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2];
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = [...counts].sort((a, b) => b[1] - a[1]).slice(0, colours).map(([colour]) => colour);
  const nearest = new Map(palette.map((colour, n) => [colour, n]));
  const distance = (a, b) => ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;
  for (const colour of counts.keys()) {
    if (nearest.has(colour)) continue;
    let best = 0;
    for (let n = 1; n < palette.length; ++n) if (distance(colour, palette[n]) < distance(colour, palette[best])) best = n;
    nearest.set(colour, best);
  }
  const lines = Buffer.alloc((width + 1) * height);
  for (let y = 0, i = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x, i += bytes) {
      lines[y * (width + 1) + 1 + x] = nearest.get((pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2]);
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))),
    chunk('IDAT', deflateSync(lines, { level: 9, memLevel: 9 })), chunk('IEND', Buffer.alloc(0))]);
}
