// The machine of claims, drawn from its transitions.
import { type Transition, transitions } from 'ipam-kit/claim'
import { arrow, box, fill, picture, text } from './svg-parts.js'

const ROW = 58
const TOP = 92
const SMALL = `${fill('soft')} font-size="12"`

/**
 * Without an address the next state depends on the event alone: one row for each event. Throws if
 * the transitions say otherwise.
 */
function rowsWithoutAddress(): Transition[] {
  const rows = new Map<string, Transition>()
  for (const one of transitions) {
    if (one.from === 'Bound' || one.event === 'AddressAllocated' || one.event === 'AddressLost') continue
    const known = rows.get(one.event) ?? one
    if (known.to !== one.to) throw new Error(`${one.event} leads to ${known.to} and to ${one.to}`)
    rows.set(one.event, known)
  }
  // new claims are Pending: this state comes first
  return [...rows.values()].sort((a, b) => Number(b.to === 'Pending') - Number(a.to === 'Pending'))
}

export function claimLife(): string {
  const rows = rowsWithoutAddress()
  const bottom = TOP + rows.length * ROW
  const fromBound = transitions.filter(({ from }) => from === 'Bound')
  const lost = fromBound.find(({ to }) => to !== 'Bound')!
  const stays = fromBound.filter(({ to, event }) => to === 'Bound' && event !== 'AddressAllocated')
  const lines = [
    text(16, 28, 'No address: the next state depends on the event alone', `${fill('ink')} font-weight="600"`),
    text(16, 64, 'event', SMALL),
    text(214, 64, 'state, and what the planner writes', SMALL),
  ]
  for (const [nth, { event, to, effects }] of rows.entries()) {
    const y = TOP + nth * ROW
    lines.push(text(16, y + 22, event))
    lines.push(arrow(`M150 ${y + 18} H206`, [206, y + 18], 'right'))
    lines.push(box({ x: 210, y: y - 8, width: 250, height: 46 }, to.startsWith('Error') ? 'bad' : 'calm'))
    lines.push(text(222, y + 11, to))
    lines.push(text(222, y + 29, effects.join(', ') || 'the claim is planned again', SMALL))
  }
  const middle = Math.round((TOP + bottom) / 2)
  const pending = TOP + rows.findIndex(({ to }) => to === lost.to) * ROW + 15
  lines.push(
    box({ x: 640, y: TOP - 8, width: 224, height: bottom - TOP - 4 }, 'good'),
    text(656, TOP + 18, 'Bound', `${fill('ink')} font-weight="600"`),
    text(656, TOP + 36, 'setAddressRef, setReady', SMALL),
    text(656, TOP + 76, 'stays Bound at:'),
    ...stays.map(({ event }, nth) => text(668, TOP + 98 + nth * 20, event, SMALL)),
    arrow(`M636 ${pending} H464`, [464, pending], 'left'),
    text(478, pending - 8, lost.event),
    text(478, pending + 18, lost.effects.join(', '), SMALL),
    `<path d="M470 ${pending + 34} V${bottom - 12}" fill="none" stroke="#55557a"/>`,
    arrow(`M470 ${middle} H636`, [636, middle], 'right'),
    text(480, middle - 8, 'AddressAllocated'),
    text(480, middle + 18, 'from each state', SMALL),
  )
  const list = rows.map(({ event, to }) => `${event} leads to ${to}`).join(', ')
  return picture({
    title: 'The life of a claim',
    description: `Without an address: ${list}. AddressAllocated leads to Bound. ${lost.event} leads from Bound to ${lost.to}. Other events do not change a Bound claim.`,
    width: 880,
    height: bottom + 8,
    lines,
  })
}
