import type { IPAddress } from 'ipam-kit/crd/cluster-api'
import { type Answer, answerKeys, type GivenCase, isRecord, those, unsupported } from '../answer.js'
import { CapoPool, conditionAsked, poolCaseSchema, readyReason } from '../capo-pool.js'
import { CapoServer, serverSchema } from '../capo-server.js'
import { answerFunction } from '../case-function.js'
import { askedOf } from '../consumer-world.js'

const WAITING = ['creating', 'waiting', 'terminating']

/** Pools of floating IPs, and servers that have an address from one. */
export function consumerCapoFip(given: GivenCase): Answer | Promise<Answer> {
  return answerFunction(given, { poolReconcile, serverReconcile })
}

async function poolReconcile(input: unknown, expect: unknown): Promise<Answer> {
  const world = new CapoPool(poolCaseSchema.parse(input))
  await world.run()
  return answerPool(world, expect)
}

/** What became of a pool, its claims and its floating IPs. */
async function answerPool(world: CapoPool, expect: unknown): Promise<Answer> {
  const pool = await world.pool()
  const bound = await world.bound()
  const given = Object.values(bound).sort()
  const { created, deleted, floatingIPs } = world.cloud
  const made = created.filter(({ by }) => by === 'call')
  const address = await world.address()
  const [released, releaseFailed, leaked] = [await world.released(), await world.releaseFailed(), await world.leaked()]
  const phases = await world.phases()
  const error = await world.error()
  const claimConditions = await world.claimConditions()
  const tagged = made.flatMap(({ id }) => floatingIPs.filter((it) => it.id === id && it.tags.length > 0))
  const deletedOutside = deleted.filter(({ by }) => by === 'call').map((act) => act.address)
  const effects = world.effects
  if (isRecord(expect) && 'leakedAfterNextPass' in expect) await world.runNext()
  const leakedAfterNextPass = await world.leaked()
  return answerKeys(expect, {
    bound: () => bound,
    boundSet: () => given,
    boundCount: () => given.length,
    distinct: () => new Set(given).size === given.length,
    created: () => made.length,
    tagged: () => tagged.map((it) => it.address),
    address: (asked) => askedAddress(asked, address),
    condition: (asked) => conditionAsked(asked, pool?.status?.conditions ?? []),
    poolCondition: () => readyReason(pool),
    claimPhase: (asked) => Object.fromEntries(Object.keys(asked as object).map((name) => [name, phases[name] ?? null])),
    status: (asked) => askedOf(asked, { availableIPs: [], failedIPs: [], ...pool?.status }),
    deletedOutside: () => deletedOutside,
    finalizerRemoved: () => released,
    poolFinalizerRemoved: () => pool === undefined,
    releaseFailed: () => releaseFailed,
    leaked: () => leaked,
    leakedAfterNextPass: () => leakedAfterNextPass,
    effects: () => effects,
    claimConditions: (asked) => askedOf(asked, claimConditions),
    // upstream says it as the error of its reconcile, and this library in the outcome of the plan
    error: (asked) => (typeof asked === 'boolean' ? error !== undefined : (error ?? null)),
    requeue: () => false,
    note: (asked) => asked,
    needs: (asked) => asked,
  })
}

/** An IPAddress as it is asked for. A prefix in words is that of a single address. */
function askedAddress(asked: unknown, address: IPAddress | undefined): unknown {
  if (address === undefined) return null
  const { metadata, spec } = address
  const single = spec.address.includes(':') ? 128 : 32
  const words = (asked as { readonly prefix?: unknown }).prefix
  const [owner] = metadata.ownerReferences ?? []
  return askedOf(asked, {
    name: metadata.name,
    prefix: typeof words === 'string' && spec.prefix === single ? words : spec.prefix,
    gateway: spec.gateway ?? '',
    finalizers: metadata.finalizers ?? [],
    owner,
    poolRef: spec.poolRef,
  })
}

async function serverReconcile(input: unknown, expect: unknown): Promise<Answer> {
  const server = new CapoServer(serverSchema.parse(input))
  if (server.unknownFault !== undefined) return unsupported(`input.fault ${JSON.stringify(server.unknownFault)}`)
  await server.run()
  const claim = await server.claim()
  const condition = await server.condition()
  const { outcome, order } = server
  const isUsed = outcome?.state === 'Bound'
  return answerKeys(expect, {
    claim: (asked) => (claim === undefined ? null : askedClaim(asked, claim.metadata, server)),
    wait: () => WAITING.includes(outcome?.kind ?? ''),
    used: () => isUsed,
    event: (asked) => (server.events.includes(String(asked)) ? asked : (server.events[0] ?? null)),
    condition: (asked) => askedCondition(asked, condition),
    report: () => /^Waiting \d+\/\d+/.exec(outcome?.message ?? '')?.[0] ?? null,
    serverCreated: () => server.isServerCreated,
    requeue: () => server.isRequeued,
    error: (asked) => (typeof asked === 'boolean' ? server.error !== undefined : (server.error ?? null)),
    conflict: () => outcome?.conflict ?? null,
    state: () => outcome?.state ?? null,
    outsideUpdates: () => server.calls.filter((call) => call !== 'describeServer').length,
    associatedPort: () => server.associatedPort ?? null,
    order: () => order,
    claimDeletedExplicitly: () => order.includes('delete claim'),
    explicitDisassociate: () => server.calls.includes('detachFloatingIP'),
    claimFinalizerRemoved: () => order.includes('remove claim finalizer'),
  })
}

function askedClaim(
  asked: unknown,
  {
    name,
    labels = {},
    finalizers = [],
    ownerReferences = [],
  }: NonNullable<Awaited<ReturnType<CapoServer['claim']>>>['metadata'],
  server: CapoServer,
): unknown {
  const [owner] = ownerReferences.map((reference) => ({ ...reference, uid: server.uidOf(reference.uid) }))
  return askedOf(asked, { name, labels, finalizers, owner })
}

/** Of a condition what is asked. Of its message that it has what upstream's says. */
function askedCondition(asked: unknown, condition: object | undefined): unknown {
  const got = askedOf(asked, condition)
  if (typeof asked !== 'object' || asked === null || !('message' in asked) || typeof got !== 'object' || got === null)
    return got
  const message = String((got as { readonly message?: unknown }).message ?? '')
  const parts = String(asked.message).split(': ')
  return {
    ...got,
    message: parts.every((part) => those(part, (text) => message.includes(text)) !== null) ? asked.message : message,
  }
}
