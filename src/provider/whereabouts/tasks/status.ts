import { check } from '../../../errors/check.js'
import type { Change, Step, Task } from '../../../plan/index.js'
import { chooseAddress } from '../choose/choose-address.js'
import { phaseProblem, TaskObjects } from './objects.js'
import type { StatusOutcome } from './outcome.js'
import { placesOf } from './places.js'
import { NETWORK_REQUEST, type NetworkRequest } from './request.js'

/**
 * The task of a CNI STATUS: whether an ADD would be served now. It reads the pools of all ranges,
 * and writes nothing. Upstream answers success and reads nothing.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function status(request: NetworkRequest): Task<StatusOutcome> {
  check<unknown>('status', 'request', request, NETWORK_REQUEST)
  return statusTask(request, { hasOther: false })
}

interface Sides {
  /** Whether a pool with a phase gives addresses. */
  readonly hasOther: boolean
}

export function statusTask(request: NetworkRequest, sides: Sides): Task<StatusOutcome> {
  const objects = new TaskObjects()
  return {
    observe: (change: Change) => objects.observe(change),
    next: () => nextOf(request, objects, sides),
  }
}

function nextOf(request: NetworkRequest, objects: TaskObjects, { hasOther }: Sides): Step<StatusOutcome> {
  const places = placesOf(request, objects)
  if (places.kind === 'step') return places.step
  if (places.kind !== 'places') return notReady(places.message)
  const read = objects.read(
    places.places.map(({ pool }) => pool),
    'the rows of the pools',
  )
  if (read !== undefined) return read
  for (const { pool, range } of places.places) {
    const reading = objects.pool(pool)
    if (reading.kind === 'unreadable') return notReady(`IPPool ${pool.name}: ${reading.problem}`)
    const phase = reading.kind === 'pool' ? phaseProblem(reading, { hasOther }) : undefined
    if (phase !== undefined) return notReady(phase)
    if (reading.kind === 'pool' && reading.isTerminating) return notReady(`IPPool ${pool.name} is being deleted`)
    const choice = chooseAddress(range, { taken: reading.kind === 'pool' ? reading.taken : [] })
    if (choice.kind !== 'chosen') return notReady(choice.message)
  }
  return { kind: 'done', outcome: { kind: 'ready', message: 'each range has a free address' } }
}

function notReady(message: string): Step<StatusOutcome> {
  return { kind: 'done', outcome: { kind: 'notReady', message } }
}
