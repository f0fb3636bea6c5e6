import { Node } from 'ipam-kit/crd/core'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { unwrap } from 'ipam-kit/errors'
import { nodeIPAM } from 'ipam-kit/provider/node-ipam'
import type { Scenario, Stage } from '../scenario.js'
import { tellSteps } from '../steps.js'
import { checksOf } from './checks.js'
import { documentOf, formatStep } from './report.js'
import { snapshot } from './snapshot.js'
import { nodeRef, rangeRef, type Step, steps } from './steps.js'

/** Nodes come and go, and so do the ranges that their subnets are from. */
export const nodeIPAMScenario: Scenario = {
  kinds: [Node.info, ClusterCIDR.info],
  whereKindsAre: 'Install the definition docs/examples/node-ipam-controller/clustercidrs.yaml.',
  run: (stage) =>
    tellSteps(stage, {
      ...{ steps, snapshot, formatStep, checksOf, documentOf },
      planners: [nodeIPAM()],
      hasMaps: true,
      more: 'ranges with their maps, the network view, Events and each check',
      act: (step) => act(stage, step),
    }),
}

/** All of a step, before anything of it is answered. */
async function act({ store, clock }: Stage, { joining = [], leaving = [], added, ended }: Step): Promise<void> {
  if (ended !== undefined) unwrap(await store.delete(rangeRef(ended)))
  if (added !== undefined) unwrap(await store.create(added))
  for (const node of joining) {
    clock.tick()
    unwrap(await store.create(node))
  }
  for (const name of leaving) unwrap(await store.delete(nodeRef(name)))
}
