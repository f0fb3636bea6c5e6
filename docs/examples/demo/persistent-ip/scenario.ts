import type { Outcome, Planner } from 'ipam-kit/plan'
import { gcPlanner } from 'ipam-kit/provider/gc'
import { persistentClaims, persistentIPs } from 'ipam-kit/provider/persistent-ip'
import type { Scenario } from '../scenario.js'
import { tellSteps } from '../steps.js'
import { checksOf } from './checks.js'
import { Cluster } from './cluster.js'
import { kinds } from './objects.js'
import { documentOf, formatStep } from './report.js'
import { snapshot } from './snapshot.js'

/** The life of a virtual machine, whose address stays with it. */
export const persistentIPScenario: Scenario = {
  kinds,
  whereKindsAre: 'Install the definitions of KubeVirt, of IPAMClaims and of networks.',
  async run(stage) {
    const planners: readonly Planner<Outcome>[] = [persistentClaims(), persistentIPs(), gcPlanner({ kinds })]
    const cluster = new Cluster(stage.store, stage.clock)
    await cluster.define()
    const act = (step: Step) => step.act(cluster)
    const more = 'Pods, the map of the network, Events and each check'
    return tellSteps(stage, { steps, planners, act, snapshot, formatStep, hasMaps: true, more, checksOf, documentOf })
  },
}

interface Step {
  readonly title: string
  readonly act: (cluster: Cluster) => Promise<void>
}

const steps: readonly Step[] = [
  {
    title: 'The machines db and web are made and started: each has a claim, and its Pod has the address of the claim',
    act: async (cluster) => {
      await cluster.create('db', 'db-1')
      await cluster.create('web', 'web-1')
    },
  },
  { title: 'db is stopped: its claim keeps the address', act: (cluster) => cluster.end('db') },
  { title: 'A Pod without a claim gets a free address', act: (cluster) => cluster.other('cache') },
  { title: 'db is started: another Pod has the same address', act: (cluster) => cluster.begin('db', 'db-2') },
  {
    title: 'A Pod of another workload names the claim of db, and is refused',
    act: (cluster) => cluster.other('thief', 'db.blue'),
  },
  {
    title: 'db migrates: both Pods have the address, and the claim names the source',
    act: async (cluster) => {
      await cluster.remove('thief')
      await cluster.launch('db', 'db-3', true)
    },
  },
  {
    title: 'db runs in the target, and the source has ended: the claim names the target',
    act: (cluster) => cluster.migrated('db-2', 'db-3'),
  },
  {
    title: 'web is deleted as an orphan: its instance runs on, and owns the claim',
    act: (cluster) => cluster.delete('web', 'Orphan'),
  },
  {
    title: 'db is deleted in foreground: its instance, its Pod and its claim end before it',
    act: (cluster) => cluster.delete('db', 'Foreground'),
  },
  {
    title: 'db is made again under its name: it has a claim of its own',
    act: (cluster) => cluster.create('db', 'db-4'),
  },
  {
    title: 'All of it is deleted',
    act: async (cluster) => {
      await cluster.delete('db', 'Background')
      await cluster.end('web')
      await cluster.remove('cache')
    },
  },
]
