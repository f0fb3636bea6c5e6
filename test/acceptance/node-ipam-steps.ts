import { Prefix } from 'ipam-kit/cidr'
import * as z from 'zod'
import { holdersOf, nodeOf, nodeSchema } from './node-ipam-input.js'
import type { NodeIPAMWorld } from './node-ipam-world.js'
import { readRepeats } from './repeats.js'

/** Steps in words, or as what is given or released. */
export const stepSchema = z.union([
  z.string(),
  z.strictObject({ allocateFor: nodeSchema }),
  z.strictObject({ releaseNode: nodeSchema }),
])
type Step = z.output<typeof stepSchema>

/** A word of a case that is not known. */
export class UnknownWord extends Error {}

/**
 * What is there at one moment, by the name of each object: the subnets of a Node, or whether a
 * ClusterCIDR is there.
 */
export type Sight = ReadonlyMap<string, unknown>

export interface StepResults {
  /** What each step gives: subnets, `error` if there are none, `null` for other steps. */
  readonly results: readonly unknown[]
  /** What is there at each step that looks. */
  readonly checks: readonly Sight[]
}

type Found = Readonly<Record<string, string | undefined>>

interface Act {
  readonly world: NodeIPAMWorld
  readonly labels: Labels
  readonly checks: Sight[]
  readonly found: Found
}

type Labels = { readonly [key: string]: string }

const PATTERNS: readonly { readonly pattern: RegExp; readonly act: (act: Act) => Promise<unknown> }[] = [
  { pattern: /^(?:create|add|join) (?:node )?(?<name>\S+)$/i, act: create },
  {
    pattern: /^(?:delete|remove) (?:the )?(?:(?<kind>node|ClusterCIDR) )?(?<name>\S+)(?: \((?<how>[^)]*)\))?$/i,
    act: remove,
  },
  { pattern: /^(?:check|look)$/i, act: check },
  { pattern: /^(?:restart|rebuild|re-?start the controller)$/i, act: restart },
  { pattern: /^(?:wait|sync|resync|retry|reconcile)$/i, act: nothing },
  { pattern: /^allocate(?: for)?(?: (?!(?:once|twice|thrice|again|[x×*]?\d*)$)(?<name>\S+))?$/i, act: allocate },
  { pattern: /^release (?:node )?(?<cidr>\S+\/\d+)$/i, act: release },
  { pattern: /^occupy (?<cidr>\S+\/\d+)$/i, act: occupy },
]

/** Does steps one after the other. The controller works until it is done after each one. */
export async function runSteps(
  world: NodeIPAMWorld,
  steps: readonly Step[],
  labels: Labels = {},
): Promise<StepResults> {
  const results: unknown[] = []
  const checks: Sight[] = []
  const objects = new Map<string, Exclude<Step, string>>()
  const texts = steps.map((step) => {
    if (typeof step === 'string') return step
    objects.set(JSON.stringify(step), step)
    return JSON.stringify(step)
  })
  const isKnown = (text: string) => objects.has(text) || PATTERNS.some(({ pattern }) => pattern.test(text))
  for (const { text, times } of readRepeats(texts, isKnown)) {
    const object = objects.get(text)
    const known = PATTERNS.find(({ pattern }) => pattern.test(text))
    for (let i = 0; i < times; i++) {
      if (object !== undefined) {
        results.push(
          'allocateFor' in object ? await give(world, nodeOf(object.allocateFor)) : await take(world, object),
        )
        continue
      }
      if (known === undefined) throw new UnknownWord(`step: ${text}`)
      const found = known.pattern.exec(text)?.groups ?? {}
      results.push((await known.act({ world, labels, checks, found })) ?? null)
      await world.run()
    }
  }
  return { results, checks }
}

/** The subnets of a Node, which is made if it is not there; `error` if it gets none. */
export async function give(world: NodeIPAMWorld, node: ReturnType<typeof nodeOf>): Promise<unknown> {
  const { name } = node.metadata
  if ((await world.get('Node', name)) === undefined) await world.put(node)
  await world.run()
  return (await podCIDRsOf(world, name)) ?? 'error'
}

async function podCIDRsOf(world: NodeIPAMWorld, name: string): Promise<readonly string[] | undefined> {
  const spec = (await world.get('Node', name))?.spec as { readonly podCIDRs?: readonly string[] } | undefined
  return spec?.podCIDRs
}

/** What is there now. */
export async function sight(world: NodeIPAMWorld): Promise<Sight> {
  const seen = new Map<string, unknown>()
  for (const name of world.names('Node')) {
    const isThere = (await world.get('Node', name)) !== undefined
    seen.set(name, isThere ? ((await podCIDRsOf(world, name)) ?? null) : 'absent')
  }
  for (const name of world.names('ClusterCIDR')) {
    const object = await world.get('ClusterCIDR', name)
    const isDeleting = object?.metadata.deletionTimestamp !== undefined
    seen.set(name, object === undefined ? 'absent' : isDeleting ? 'present with deletionTimestamp' : 'present')
  }
  return seen
}

/** Deletes the Nodes that have any of these subnets, or else the one of that name. */
async function take(world: NodeIPAMWorld, { releaseNode }: { readonly releaseNode: z.output<typeof nodeSchema> }) {
  const node = nodeOf(releaseNode)
  const { podCIDRs = [] } = node.spec as { readonly podCIDRs?: readonly string[] }
  const names = (await Promise.all(podCIDRs.map((cidr) => holders(world, cidr)))).flat()
  for (const name of names.length === 0 ? [node.metadata.name] : names) await world.delete('Node', name)
  await world.run()
  return null
}

async function holders(world: NodeIPAMWorld, cidr: string): Promise<string[]> {
  const text = Prefix.format(Prefix.masked(Prefix.parse(cidr)))
  const nodes = world.names('Node').map(async (name) => ((await podCIDRsOf(world, name))?.includes(text) ? [name] : []))
  return (await Promise.all(nodes)).flat()
}

async function create({ world, labels, found }: Act): Promise<void> {
  await world.put(nodeOf({ name: String(found.name), labels }))
}

/** An object of that name; `delete ClusterCIDR` and `delete node` are about the only one. */
async function remove({ world, found }: Act): Promise<void> {
  const [name, kind] = [String(found.name), found.kind?.toLowerCase()]
  const isHeld = /finalizer|deletionTimestamp|held|slow|not gone/i.test(found.how ?? '')
  if (kind !== 'clustercidr' && world.has('Node', name)) return world.delete('Node', name, { isHeld })
  if (kind !== 'node' && world.has('ClusterCIDR', name)) return world.delete('ClusterCIDR', name, { isHeld })
  const only = { node: 'Node', clustercidr: 'ClusterCIDR' } as const
  const word = name.toLowerCase()
  if (word !== 'node' && word !== 'clustercidr') throw new UnknownWord(`no step or object is named ${name}`)
  await world.delete(only[word], world.names(only[word])[0] ?? name, { isHeld })
}

async function check({ world, checks }: Act): Promise<void> {
  checks.push(await sight(world))
}

async function restart({ world }: Act): Promise<void> {
  world.restart()
}

async function nothing(): Promise<void> {}

/** Without a name: for the Node that waits, or for a new one. */
async function allocate({ world, labels, found }: Act): Promise<unknown> {
  const waiting = world.names('Node').filter((name) => world.outcome('Node', name)?.kind === 'waiting')
  const name = found.name ?? waiting[0] ?? `node-${world.names('Node').length}`
  return give(world, nodeOf({ name, labels }))
}

async function release({ world, found }: Act): Promise<void> {
  for (const name of await holders(world, String(found.cidr))) await world.delete('Node', name)
}

async function occupy({ world, found }: Act): Promise<void> {
  const [holder] = holdersOf([String(found.cidr)])
  await world.put({ ...holder!, metadata: { name: `occupier-${world.names('Node').length}` } })
}
