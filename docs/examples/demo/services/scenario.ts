import { Service } from 'ipam-kit/crd/core'
import type { KindInfo } from 'ipam-kit/crd/meta'
import { IPAddress, ServiceCIDR } from 'ipam-kit/crd/networking'
import { unwrap } from 'ipam-kit/errors'
import { serviceIPs } from 'ipam-kit/provider/service-ip'
import type { Scenario, Stage } from '../scenario.js'
import { tellSteps } from '../steps.js'
import { checksOf } from './checks.js'
import { documentOf, formatStep, snapshot } from './snapshot.js'

/** Services get cluster IPs, a range is replaced by a larger one, and faults are repaired. */
export const servicesScenario: Scenario = {
  kinds: [Service.info, IPAddress.info, ServiceCIDR.info],
  whereKindsAre: 'They are kinds of Kubernetes 1.33 and later.',
  run: (stage) =>
    tellSteps(stage, {
      ...{ steps, snapshot, formatStep, checksOf, documentOf },
      planners: [serviceIPs({ seed: 7 })],
      act: (step) => step.act(stage),
      hasMaps: true,
      more: 'ServiceCIDRs with their maps, Events and each check',
    }),
}

interface Step {
  readonly title: string
  readonly act: (stage: Stage) => Promise<void>
}

const NAMES = ['dns', 'web', 'api', 'db', 'cache', 'mail', 'chat', 'shop'] as const

const steps: readonly Step[] = [
  {
    title: 'ServiceCIDR first is added. Service dns names its address, and 2 others do not',
    act: async (stage) => {
      await create(stage, ServiceCIDR.info, 'first', { cidrs: ['10.96.0.0/29'] })
      await create(stage, Service.info, 'dns', { clusterIP: '10.96.0.5' })
      for (const name of NAMES.slice(1, 3)) await create(stage, Service.info, name, {})
    },
  },
  {
    title: '5 more Services are created, and the ServiceCIDR has 3 free addresses',
    act: async (stage) => {
      for (const name of NAMES.slice(3)) await create(stage, Service.info, name, {})
    },
  },
  {
    title: 'ServiceCIDR larger is added',
    act: (stage) => create(stage, ServiceCIDR.info, 'larger', { cidrs: ['10.96.0.0/28'] }),
  },
  {
    title: 'ServiceCIDR first is deleted: larger has all of its addresses',
    act: (stage) => remove(stage, ServiceCIDR.info, 'first'),
  },
  {
    title: 'The IPAddress of dns is deleted by hand: it is created again',
    act: (stage) => remove(stage, IPAddress.info, '10.96.0.5'),
  },
  {
    title: 'web and api are deleted, without their IPAddresses: nothing needs these, and they are deleted',
    act: async (stage) => {
      for (const name of NAMES.slice(1, 3)) await remove(stage, Service.info, name)
    },
  },
]

async function create({ store, clock }: Stage, info: KindInfo, name: string, spec: object): Promise<void> {
  const { apiVersion, kind } = info
  clock.tick()
  unwrap(await store.create({ apiVersion, kind, metadata: { name, ...namespaceOf(info) }, spec }))
}

async function remove({ store }: Stage, info: KindInfo, name: string): Promise<void> {
  const { apiVersion, kind } = info
  unwrap(await store.delete({ apiVersion, kind, name, ...namespaceOf(info) }))
}

function namespaceOf({ namespaced }: KindInfo) {
  return namespaced ? { namespace: 'default' } : {}
}
