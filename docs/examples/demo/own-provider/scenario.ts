import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { unwrap } from 'ipam-kit/errors'
import { callerOf } from '../../external-provider/caller.js'
import { FakeIpam } from '../../external-provider/fake-ipam.js'
import { InfobloxPool } from '../../external-provider/pool.js'
import { infoblox } from '../../external-provider/provider.js'
import type { Scenario, Stage } from '../scenario.js'
import { tellSteps } from '../steps.js'
import { checksOf } from './checks.js'
import { documentOf, formatStep, snapshot } from './snapshot.js'

/** A provider of three functions, over an IPAM product that fails. */
export const ownProviderScenario: Scenario = {
  kinds: [IPAddressClaim, IPAddress, InfobloxPool].map(({ info }) => info),
  whereKindsAre: 'InfobloxPool is a kind of docs/examples/external-provider, the others are of Cluster API.',
  async run(stage) {
    const ipam = new FakeIpam()
    await define(stage, ipam)
    return tellSteps(stage, {
      ...{ steps, formatStep, checksOf, documentOf },
      planners: [infoblox()],
      external: callerOf(ipam),
      act: (step) => act(stage, ipam, step),
      snapshot: (store, { title }) => snapshot(store, ipam, title),
      hasMaps: false,
      more: 'what each claim waits for, the records and calls of the product, and each check',
    })
  },
}

interface Step {
  readonly title: string
  readonly stopsClock?: true
  readonly created?: string
  readonly deleted?: readonly string[]
  /** What goes wrong with the next call to the product. */
  readonly trouble?: 'down' | 'lost-answer'
}

const steps: readonly Step[] = [
  { title: 'web-0 is created while the product does not answer', created: 'web-0', trouble: 'down', stopsClock: true },
  { title: 'The call is repeated: web-0 has an address' },
  {
    title: 'web-1 is created: the product allocates an address, and its answer is lost',
    created: 'web-1',
    trouble: 'lost-answer',
    stopsClock: true,
  },
  { title: 'The call is repeated with the same key: web-1 has the address that was allocated' },
  { title: 'web-2 is created: the network has 2 addresses, and is full', created: 'web-2', stopsClock: true },
  { title: 'web-0 is deleted: its address is released, and web-2 gets it', deleted: ['web-0'] },
  { title: 'All claims are deleted', deleted: ['web-1', 'web-2'] },
]

const NAMESPACE = 'lab'
const POOL = 'blue'
const NETWORK = '10.20.0.0/30'

async function define({ store }: Stage, ipam: FakeIpam): Promise<void> {
  ipam.addNetwork(NETWORK)
  const { apiVersion, kind } = InfobloxPool.info
  const spec = { network: NETWORK, prefix: 30, gateway: '10.20.0.3' }
  unwrap(await store.create({ apiVersion, kind, metadata: { namespace: NAMESPACE, name: POOL }, spec }))
}

/** All of a step, before a controller works. */
async function act({ store, clock }: Stage, ipam: FakeIpam, { created, deleted = [], trouble }: Step): Promise<void> {
  const { apiVersion, kind } = IPAddressClaim.info
  clock.tick()
  if (trouble !== undefined) ipam.inject(trouble)
  for (const name of deleted) unwrap(await store.delete({ apiVersion, kind, namespace: NAMESPACE, name }))
  if (created === undefined) return
  const poolRef = { apiGroup: 'ipam.example.com', kind: InfobloxPool.info.kind, name: POOL }
  const metadata = { namespace: NAMESPACE, name: created }
  unwrap(await store.create({ apiVersion, kind, metadata, spec: { poolRef } }))
}
