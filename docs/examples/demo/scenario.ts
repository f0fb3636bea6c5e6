import type { Meta } from 'ipam-kit/crd'
import type { AdmittedStore } from './admitted-store.js'
import type { Clock } from './clock.js'
import type { Io } from './io.js'
import type { Options } from './options.js'
import type { Screen } from './screen.js'

/** Something that the demo shows, from the first write to the exit status. */
export interface Scenario {
  /** What the store is asked for. */
  readonly kinds: readonly Meta.KindInfo[]
  /** How a cluster comes to these kinds, in words for people. */
  readonly whereKindsAre: string
  /** @returns the exit status */
  run(stage: Stage): Promise<number>
}

/** What a scenario has to do with. */
export interface Stage {
  readonly options: Options
  readonly io: Io
  readonly screen: Screen
  /** Asks the admission rules before each write, whatever the store. */
  readonly store: AdmittedStore
  readonly clock: Clock
  /** The store as it may be shown, if it outlives this process. */
  readonly lasting: string | undefined
}
