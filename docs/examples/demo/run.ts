import { IpamError } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import {
  formatAddress,
  type Load,
  openStore,
  type StoreAddress,
  StoreNotOpened,
  withoutSecrets,
} from '../open-store.js'
import { AdmittedStore } from './admitted-store.js'
import { blocksScenario } from './blocks/scenario.js'
import { realClock, VirtualClock } from './clock.js'
import { floatingIPScenario } from './floating-ip/scenario.js'
import { inClusterScenario } from './in-cluster/scenario.js'
import type { Io } from './io.js'
import { networkViewScenario } from './network-view/scenario.js'
import { nodeIPAMScenario } from './node-ipam/scenario.js'
import { help, type Options, parseOptions, type ScenarioName, usage } from './options.js'
import { ownProviderScenario } from './own-provider/scenario.js'
import { persistentIPScenario } from './persistent-ip/scenario.js'
import type { Scenario, Stage } from './scenario.js'
import { Screen } from './screen.js'
import { servicesScenario } from './services/scenario.js'
import { printable } from './text.js'
import { whereaboutsScenario } from './whereabouts/scenario.js'

const SCENARIOS: { readonly [name in ScenarioName]: Scenario } = {
  'in-cluster': inClusterScenario,
  blocks: blocksScenario,
  'node-ipam': nodeIPAMScenario,
  'floating-ip': floatingIPScenario,
  whereabouts: whereaboutsScenario,
  'persistent-ip': persistentIPScenario,
  services: servicesScenario,
  'network-view': networkViewScenario,
  'own-provider': ownProviderScenario,
}

/** The demo: arguments in, exit status out. */
export async function runDemo(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseOptions(args)
  switch (parsed.kind) {
    case 'help':
      io.out(help)
      return 0
    case 'mistake':
      io.err(`${printable(parsed.message)}\n${usage}Try --help.\n`)
      return 2
    case 'run': {
      const { options } = parsed
      return options.store === undefined ? runInMemory(options, io) : runOver(options.store, options, io)
    }
  }
}

/** Inside this process, with a clock that only this program moves. */
async function runInMemory(options: Options, io: Io): Promise<number> {
  const scenario = SCENARIOS[options.scenario]
  const clock = new VirtualClock()
  const store = memoryStore({ now: () => clock.nowMs, kinds: scenario.kinds })
  return play(scenario, { options, io, store, clock, lasting: undefined })
}

/** Over a store that may not be there, and may go away. */
async function runOver(address: StoreAddress, options: Options, io: Io): Promise<number> {
  const scenario = SCENARIOS[options.scenario]
  const { kinds } = scenario
  const load: Load = io.load ?? ((name) => import(name))
  try {
    const { store, close } = await openStore(address, { kinds, load, folder: io.folder })
    try {
      return await play(scenario, { options, io, store, clock: realClock, lasting: formatAddress(address) })
    } finally {
      await close().catch(() => {})
    }
  } catch (error) {
    const failed = problemIn(error, address, scenario)
    if (failed === undefined) throw error
    io.err(`${failed.message.split('\n').map(printable).join('\n')}\n`)
    return failed.status
  }
}

async function play(
  scenario: Scenario,
  { store, ...parts }: Omit<Stage, 'screen' | 'store'> & { readonly store: Store },
): Promise<number> {
  const screen = new Screen(parts.options, parts.io)
  try {
    return await scenario.run({ ...parts, store: new AdmittedStore(store), screen })
  } finally {
    screen.progress.clear()
  }
}

/** What is the matter with a store, in words for people; `undefined` for anything else. */
function problemIn(
  error: unknown,
  address: StoreAddress,
  { whereKindsAre }: Scenario,
): { readonly message: string; readonly status: 1 | 2 } | undefined {
  if (error instanceof StoreNotOpened) {
    const message = error.why === 'kinds-missing' ? `${error.message}\n${whereKindsAre}` : error.message
    return { message, status: error.why === 'client-missing' ? 2 : 1 }
  }
  if (!(error instanceof IpamError && error.code.startsWith('STORE_'))) return undefined
  const rest =
    error.code === 'STORE_OUTCOME_UNKNOWN'
      ? 'It may still be done. Run this again when the store answers, and has ended whatever it was asked for before.'
      : 'What was written before stays; the next run goes on from there.'
  return { message: `${formatAddress(address)}: ${withoutSecrets(error.message, address)}\n${rest}`, status: 1 }
}
