// Parts of pictures: colours for light and dark pages, text, boxes and arrows.
import { escapeXml } from '../src/render/xml.js'

/** A colour on a light page and on a dark one. */
const COLOURS = {
  paper: ['#ffffff', '#1e1e22'],
  ink: ['#1b1b1b', '#ececec'],
  soft: ['#55595f', '#a5a9b0'],
  good: ['#eef6ee', '#1d2b1f'],
  goodLine: ['#3b7a3b', '#7fbf7f'],
  calm: ['#f3f3f8', '#2a2a38'],
  calmLine: ['#55557a', '#a0a0d0'],
  bad: ['#f8dfdb', '#46241f'],
  badLine: ['#9a3a2f', '#e58a7d'],
} as const

type Colour = keyof typeof COLOURS

export function fill(colour: Colour): string {
  return `fill="${COLOURS[colour][0]}"`
}

export function stroke(colour: Colour): string {
  return `stroke="${COLOURS[colour][0]}"`
}

/** One line of text at its baseline. */
export function text(x: number, y: number, words: string, attributes = fill('ink')): string {
  return `<text ${attributes} x="${x}" y="${y}">${escapeXml(words)}</text>`
}

interface BoxAt {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export function box({ x, y, width, height }: BoxAt, kind: 'good' | 'calm' | 'bad'): string {
  const size = `x="${x}" y="${y}" width="${width}" height="${height}" rx="6"`
  return `<rect ${fill(kind)} ${stroke(`${kind}Line`)} ${size}/>`
}

/** A line with right angles and a head at its end, which points to the left or to the right. */
export function arrow(path: string, end: readonly [x: number, y: number], to: 'left' | 'right'): string {
  const [x, y] = end
  const back = to === 'right' ? -8 : 8
  const head = `M${x + back} ${y - 5} L${x} ${y} L${x + back} ${y + 5}`
  return `<g ${stroke('ink')} stroke-width="1.5" fill="none"><path d="${path}"/><path d="${head}"/></g>`
}

/** Lines of at most `length` characters, cut at blanks. */
export function wrapped(words: string, length: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of words.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > length) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

interface Picture {
  readonly title: string
  readonly description: string
  readonly width: number
  readonly height: number
  readonly lines: readonly string[]
}

/** A document whose colours follow the light or dark mode of the reader. */
export function picture({ title, description, width, height, lines }: Picture): string {
  const body = lines.join('\n')
  const rules = Object.values(COLOURS).flatMap(([light, dark]) =>
    (['fill', 'stroke'] as const)
      .filter((property) => `${body}${fill('paper')}`.includes(`${property}="${light}"`))
      .map((property) => `      [${property}="${light}"] { ${property}: ${dark}; }`),
  )
  const font = 'font-family="system-ui, sans-serif" font-size="13"'
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="t d" ${font}>`,
    `  <title id="t">${escapeXml(title)}</title>`,
    `  <desc id="d">${escapeXml(description)}</desc>`,
    '  <style>',
    '    @media (prefers-color-scheme: dark) {',
    ...rules,
    '    }',
    '  </style>',
    `<rect ${fill('paper')} width="${width}" height="${height}"/>`,
    body,
    '</svg>',
    '',
  ].join('\n')
}

const GAP = 8

/** Maps of `svgMap` below each other in one document, with the styles of the first. */
export function stackedMaps({ title, maps }: { readonly title: string; readonly maps: readonly string[] }): string {
  const parts = maps.map((svg) => {
    const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg)!
    const [, description] = /<desc>(.*)<\/desc>/.exec(svg)!
    const [, styles, body] = /<\/desc>\n(<style>[\s\S]*?<\/defs>)\n([\s\S]*)<\/svg>/.exec(svg)!
    return { width: Number(width), height: Number(height), description: description!, styles: styles!, body: body! }
  })
  const width = Math.max(...parts.map((part) => part.width))
  let y = 0
  const groups = parts.flatMap(({ height, body }) => {
    const group = [`<g transform="translate(0 ${y})">`, body.trimEnd(), '</g>']
    y += height + GAP
    return group
  })
  const size = `viewBox="0 0 ${width} ${y - GAP}"`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="ipam-map" role="img" aria-labelledby="t d" ${size}>`,
    `<title id="t">${escapeXml(title)}</title>`,
    `<desc id="d">${parts.map(({ description }) => description).join(' ')}</desc>`,
    parts[0]!.styles,
    `<rect class="paper" width="${width}" height="${y - GAP}" fill="#ffffff"/>`,
    ...groups,
    '</svg>',
    '',
  ].join('\n')
}
