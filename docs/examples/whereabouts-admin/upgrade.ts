import { Address } from 'ipam-kit/cidr'
import type { KindInfo } from 'ipam-kit/crd/meta'
import type { Outcome, Task } from 'ipam-kit/plan'
import {
  copyRows,
  cutOver,
  finishUpgrade,
  type RollBackRequest,
  rollBack,
  startUpgrade,
  type UpgradeDifference,
  type UpgradeOddity,
  verifyUpgrade,
} from 'ipam-kit/provider/whereabouts-blocks'
import { table } from 'ipam-kit/render'
import { LEASE } from 'ipam-kit/run'
import { cell, joinSections, lines, section } from '../demo/text.js'
import { FlagError } from '../program/flags.js'
import { type Cluster, copyOfCluster, kindsOf, readCluster } from './cluster.js'
import { type Command, type Exit, type Place, runShown, textOf, wordsOf } from './command.js'
import { unreadIn } from './networks.js'
import { createTargets } from './targets.js'
import { planOf, showPlan, toJson, type UpgradeFlags } from './upgrade-plan.js'

/** How a step of an upgrade ends. */
type StepOutcome = Outcome & {
  readonly oddities?: readonly UpgradeOddity[]
  readonly differences?: readonly UpgradeDifference[]
}

interface UpgradeStep {
  task(request: RollBackRequest): Task<StepOutcome>
  /** The IPAM type that no definition of the pool may have. */
  readonly refuses?: 'whereabouts' | 'ipam-kit'
}

const STEPS: { readonly [step: string]: UpgradeStep } = {
  start: { task: startUpgrade, refuses: 'ipam-kit' },
  copy: { task: copyRows },
  verify: { task: verifyUpgrade },
  'cut-over': { task: cutOver, refuses: 'ipam-kit' },
  'roll-back': { task: rollBack, refuses: 'ipam-kit' },
  finish: { task: finishUpgrade, refuses: 'whereabouts' },
}

/** The kinds of outcomes after which the next step can follow. */
const DONE: readonly string[] = ['same', 'phase']

/** `upgrade STEP --pool NAME`: brings the rows of a pool of whereabouts to blocks. */
export const upgrade: Command = {
  flags: {
    pool: { type: 'string', about: 'the pool of whereabouts: needed, except for `upgrade plan`' },
    output: { type: 'string', default: 'text', about: '`text` or `json`' },
    'skip-definition': {
      type: 'string',
      multiple: true,
      about: 'a definition that is not of whereabouts, though it cannot be read: `NAMESPACE/NAME`. Repeatable',
    },
    'lease-holder': { type: 'string', about: 'the holder of the Lease of upstream. Left out: that of the library' },
    to: { type: 'string', about: 'of `roll-back`: the phase that the pool gets, `dual-write` or `none`' },
    'dry-run': { type: 'boolean', default: false, about: 'prints the writes, and makes none' },
  },
  kinds: (hasBlocks): readonly KindInfo[] => {
    if (!hasBlocks) throw new FlagError('an upgrade needs the kinds of blocks')
    return [...kindsOf(hasBlocks), LEASE]
  },
  read(words, values) {
    const [name = ''] = wordsOf('upgrade', words, [['plan', ...Object.keys(STEPS)].join('|')])
    const output = textOf(values, 'output') ?? 'text'
    if (output !== 'text' && output !== 'json') throw new FlagError(`--output (${output}) is text or json`)
    const flags: UpgradeFlags = {
      pool: textOf(values, 'pool'),
      output,
      skipped: (values['skip-definition'] ?? []) as readonly string[],
      leaseHolder: textOf(values, 'lease-holder'),
    }
    if (name === 'plan') return async (place) => showPlan(place, flags, await readCluster(place))
    const step = STEPS[name]
    if (step === undefined) throw new FlagError(`there is no step ${name}`)
    const to = toOf(name, textOf(values, 'to'))
    const { pool } = flags
    if (pool === undefined) throw new FlagError('--pool NAME is the pool of whereabouts')
    return async (place) => {
      const isDry = values['dry-run'] === true
      const where = isDry ? { ...place, store: await copyOfCluster(place, [LEASE]) } : place
      return runStep(where, step, { ...flags, pool, to }, name)
    }
  },
}

type Target = RollBackRequest['to']

/** @throws FlagError if `--to` is missing for a roll-back, is no phase, or is for another step */
function toOf(step: string, to: string | undefined): Target {
  if (step !== 'roll-back' && to !== undefined) throw new FlagError('--to is for roll-back')
  const target = step === 'roll-back' ? to : 'none'
  if (target !== 'dual-write' && target !== 'none') throw new FlagError('--to is dual-write or none')
  return target
}

async function runStep(
  place: Place,
  step: UpgradeStep,
  flags: UpgradeFlags & { readonly pool: string; readonly to: Target },
  name: string,
): Promise<Exit> {
  const cluster = await readCluster(place)
  const problems = problemsOf(cluster, step, flags)
  if (problems.length > 0) {
    place.print(lines(problems, Number.POSITIVE_INFINITY))
    return 3
  }
  if (name === 'start') {
    const exit = await createTargets(place, cluster, flags.pool)
    if (exit !== 0) return exit
  }
  const { pool, leaseHolder, to } = flags
  const networks = cluster.networks.networks.map(({ config }) => config)
  const ended = await runShown(step.task({ pool, namespace: place.namespace, networks, leaseHolder, to }), place)
  if ('exit' in ended) return ended.exit
  const { outcome } = ended
  place.print(flags.output === 'json' ? toJson(outcome) : formatOutcome(outcome))
  if (DONE.includes(outcome.kind)) return 0
  return outcome.kind === 'leaseHeld' ? 4 : 3
}

/** Why the step must not be made, by what the definitions show. */
function problemsOf(
  cluster: Cluster,
  { refuses }: UpgradeStep,
  { pool, skipped }: UpgradeFlags & { readonly pool: string },
): readonly string[] {
  const { targets = [] } = planOf(cluster).pools.find(({ name }) => name === pool) ?? {}
  const wrong = cluster.networks.networks
    .filter(({ type, pools }) => type === refuses && pools.some((each) => targets.includes(each.metadata.name)))
    .map(({ definition, type }) => `NetworkAttachmentDefinition ${definition} has the IPAM type ${type}`)
  return [...unreadIn(cluster.networks, skipped), ...wrong]
}

function formatOutcome({ message, oddities = [], differences = [] }: StepOutcome): string {
  const rows = differences.map(({ kind, address, old, block }) => {
    return [Address.format(address), kind, old ?? null, block ?? null].map(cell)
  })
  const obstacles = oddities
    .filter(({ isObstacle }) => isObstacle)
    .map(
      ({ kind, address, problem }) =>
        `${kind}: ${address === undefined ? '' : `${Address.format(address)}: `}${problem}`,
    )
  return section(
    message,
    joinSections([
      rows.length === 0 ? '' : table(['ADDRESS', 'DIFFERENCE', 'POOL', 'BLOCKS'], rows),
      lines(obstacles, Number.POSITIVE_INFINITY),
    ]),
  ).trimEnd()
}
