import { type Answer, answerKeys, type GivenCase, those, unsupported } from '../answer.js'
import { CapoServer, serverSchema } from '../capo-server.js'
import { answerFunction } from '../case-function.js'
import { askedOf } from '../consumer-world.js'

const WAITING = ['creating', 'waiting', 'terminating']

/** Pools of floating IPs, and servers that have an address from one. */
export function consumerCapoFip(given: GivenCase): Answer | Promise<Answer> {
  if (given.fields.function === 'poolReconcile') return { kind: 'notBuilt', built: 'floating IPs of servers' }
  return answerFunction(given, { serverReconcile })
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
