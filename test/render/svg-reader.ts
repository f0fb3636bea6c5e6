import { all, parseXml, textOf, type XmlElement } from './strict-xml.js'

/** A rectangle of a map: some cells that are alike. */
export interface Drawn {
  readonly state: string
  /** The lines of its tooltip. */
  readonly tooltip: readonly string[]
  readonly row: number
  readonly at: number
  readonly length: number
}

export interface DrawnGrid {
  readonly summary: string
  readonly rows: readonly string[]
  readonly runs: readonly Drawn[]
}

export interface DrawnMap {
  readonly root: XmlElement
  readonly title: string
  readonly description: string
  readonly legend: readonly string[]
  readonly grids: readonly DrawnGrid[]
  /** The texts inside of the maps. */
  readonly shown: readonly string[]
}

const states = ['used', 'few', 'some', 'many', 'most', 'free', 'kept', 'stray']

/** Reads a map back from its picture, cell by cell. */
export function readMap(svg: string, columns = 64): DrawnMap {
  const root = parseXml(svg)
  const groups = all(root, 'g')
  const cell = Math.min(24, Math.max(4, 768 / columns))
  const labels = groups.filter((group) => group.attributes.class === 'soft mono')
  const summaries = all(root, 'text').filter((text) => text.attributes.class === 'soft')
  const rects = groups.flatMap((group) => {
    const state = group.attributes.class ?? ''
    return states.includes(state) ? all(group, 'rect').map((rect) => ({ state, rect })) : []
  })
  const grids = labels.map((group, index) => {
    const rows = all(group, 'text')
    const left = Number(rows[0]!.attributes.x) + 12
    const tops = rows.map((row) => Number(row.attributes.y) - 13)
    const runs = rects.flatMap(({ state, rect }) => {
      const { x, y, width } = rect.attributes
      const row = tops.indexOf(Number(y))
      const [at, length] = [(Number(x) - left) / cell, (Number(width) + 1) / cell]
      return row < 0 ? [] : [{ state, row, at, length, tooltip: textOf(all(rect, 'title')[0]).split('\n') }]
    })
    return { summary: textOf(summaries[index]), rows: rows.map(textOf), runs }
  })
  const legend = groups.find((group) => group.attributes['font-size'] === '12' && group.attributes.class === undefined)
  const mono = groups.find((group) => group.attributes.class === 'mono')
  return {
    root,
    title: textOf(all(root, 'title')[0]),
    description: textOf(all(root, 'desc')[0]),
    legend: legend === undefined ? [] : all(legend, 'text').map(textOf),
    grids,
    shown: mono === undefined ? [] : all(mono, 'text').map(textOf),
  }
}

/**
 * The map that `asciiMap` would draw, from the rectangles of a picture. Throws if two of them
 * overlap.
 */
export function asAscii({ rows, runs }: DrawnGrid): string[] {
  const width = Math.max(...rows.map((row) => row.length))
  return rows.map((label, row) => {
    const cells: string[] = []
    for (const run of runs.filter((each) => each.row === row)) {
      for (let i = run.at; i < run.at + run.length; i++) {
        if (cells[i] !== undefined || !Number.isInteger(i)) throw new Error(`two rectangles at ${row}, ${i}`)
        cells[i] =
          { used: '#', few: ':', some: '+', many: '*', most: '%', free: '.', kept: '-', stray: '!' }[run.state] ?? '?'
      }
    }
    return `${label.padEnd(width)}  ${Array.from(cells, (character) => character ?? ' ').join('')}`
  })
}
