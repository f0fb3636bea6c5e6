import { type DrawnState, type Shade, shades } from './grid.js'

/**
 * How a state looks: told apart by colour, by brightness and, where that is not enough, by a
 * pattern or an outline.
 */
interface Look {
  readonly words: string
  /** Presentation attributes for a light page. They hold where style sheets are refused. */
  readonly attributes: string
  /** The same for what lies below a label and for the label itself. */
  readonly below: string
  readonly label: string
}

const onPaper = { below: 'class="paper" fill="#ffffff"', label: 'class="ink" fill="#1f2328"' }

function shaded(shade: Shade, words: string): Look {
  return { words, attributes: `class="${shade}" fill="url(#ipam-map-${shade})"`, ...onPaper }
}

/** In the order of the legend, and of drawing: what needs attention comes last and lies on top. */
export const looks: Readonly<Record<DrawnState, Look>> = {
  used: {
    words: 'in use',
    attributes: 'class="used" fill="#0072b2"',
    below: 'class="used" fill="#0072b2"',
    label: 'class="on-used" fill="#ffffff"',
  },
  few: shaded('few', 'up to 1/4 in use'),
  some: shaded('some', 'up to 1/2'),
  many: shaded('many', 'up to 3/4'),
  most: shaded('most', 'more than 3/4'),
  free: {
    words: 'free',
    attributes: 'class="free" fill="#e6f1ea" stroke="#8aa394" shape-rendering="crispEdges"',
    below: 'class="free-paper" fill="#e6f1ea"',
    label: onPaper.label,
  },
  kept: { words: 'kept back', attributes: 'class="kept" fill="url(#ipam-map-kept)"', ...onPaper },
  stray: {
    words: 'in use, out of range',
    attributes: 'class="stray" fill="url(#ipam-map-stray)" stroke="#8a2f00" stroke-width="2"',
    ...onPaper,
  },
}

/** The states in the order of the legend. */
export const drawnStates = /* @__PURE__ */ Object.keys(looks) as readonly DrawnState[]

/** How thick the lines of each shade are: the ink grows with what is in use. */
const STROKES = [0.7, 1.5, 2.4, 3.3]

/**
 * Styles and patterns. Several maps may be part of one page, so every rule is below `svg.ipam-map`,
 * and the patterns of one are those of all. Blue, vermilion and their light and dark neighbours
 * stay apart for all common kinds of colour vision.
 */
export const theme: readonly string[] = [
  '<style>',
  'svg.ipam-map{max-width:100%;height:auto;font-family:system-ui,sans-serif}',
  'svg.ipam-map .mono{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}',
  '@media (prefers-color-scheme:dark){',
  'svg.ipam-map .paper{fill:#0d1117}',
  'svg.ipam-map .ink{fill:#e6edf3}',
  'svg.ipam-map .on-used{fill:#0d1117}',
  'svg.ipam-map .soft{fill:#9198a1}',
  'svg.ipam-map .lines{stroke:#0d1117}',
  'svg.ipam-map .gaps{stroke:#6e7681}',
  'svg.ipam-map .used{fill:#56b4e9}',
  'svg.ipam-map .partly-paper{fill:#12324a}',
  'svg.ipam-map .partly-ink{stroke:#56b4e9}',
  'svg.ipam-map .free{stroke:#5c7567}',
  'svg.ipam-map .free,svg.ipam-map .free-paper{fill:#1a2620}',
  'svg.ipam-map .kept-paper{fill:#2b3036}',
  'svg.ipam-map .kept-ink{fill:#8b949e}',
  'svg.ipam-map .stray{stroke:#ffd9c2}',
  'svg.ipam-map .stray-paper{fill:#d55e00}',
  'svg.ipam-map .stray-ink{stroke:#ffd9c2}',
  '}',
  '</style>',
  '<defs>',
  ...shades.flatMap((shade, nth) => [
    `<pattern id="ipam-map-${shade}" width="6" height="6" patternUnits="userSpaceOnUse">`,
    '<rect class="partly-paper" width="6" height="6" fill="#e3f0f8"/>',
    `<path class="partly-ink" d="M-1 1L1 -1M0 6L6 0M5 7L7 5" stroke="#0072b2" stroke-width="${STROKES[nth]}"/>`,
    '</pattern>',
  ]),
  '<pattern id="ipam-map-kept" width="6" height="6" patternUnits="userSpaceOnUse">',
  '<rect class="kept-paper" width="6" height="6" fill="#dcdfe3"/>',
  '<circle class="kept-ink" cx="3" cy="3" r="1" fill="#6b7480"/>',
  '</pattern>',
  '<pattern id="ipam-map-stray" width="6" height="6" patternUnits="userSpaceOnUse">',
  '<rect class="stray-paper" width="6" height="6" fill="#e8752a"/>',
  '<path class="stray-ink" d="M0 0L6 6M0 6L6 0" stroke="#8a2f00" stroke-width="1"/>',
  '</pattern>',
  '</defs>',
]
