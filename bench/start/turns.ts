import { type Measurement, measurement } from '../harness.js'
import { measureStart } from './measure.js'
import { SYSTEMS, type System } from './objects.js'

const OBJECTS = 100_000

/** What the longest turn of the event loop is held against: it was the whole of the work, once. */
export const IN_ONE_TURN = 'all its CPU in one turn'

/** Controllers that list and plan what is stored when they start. */
export const starts = (Object.keys(SYSTEMS) as System[]).map((system) => ({
  system,
  name: `longest turn of the event loop, ${system} with ${OBJECTS.toLocaleString('en')} objects`,
}))

/** In milliseconds of CPU, so that other processes of the machine do not count. */
export function longestTurn({ system, name }: (typeof starts)[number]): Measurement {
  const { longestMs, cpuMs } = measureStart(system, OBJECTS)
  return measurement(name, IN_ONE_TURN, longestMs * 1e6, cpuMs * 1e6)
}
