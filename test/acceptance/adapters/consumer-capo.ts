import { type Admission, type CrdModel, formatFieldError, type KubeObject } from 'ipam-kit/crd/meta'
import {
  admitOpenStackMachine,
  admitOpenStackServer,
  isFloatingIPPoolReference,
  OpenStackMachine,
  OpenStackServer,
  poolTag,
} from 'ipam-kit/crd/openstack'
import type { ExternalResult } from 'ipam-kit/plan'
import { capoServerOf, claimsFor } from 'ipam-kit/provider/consumer'
import { getOrCreateFloatingIP } from 'ipam-kit/provider/openstack'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase } from '../answer.js'
import { CapoPool, conditionAsked } from '../capo-pool.js'
import { answerFunction, type CaseFunctions } from '../case-function.js'
import { NAMESPACE, ownerOf } from '../consumer-objects.js'

type WantedFloatingIP = Parameters<typeof getOrCreateFloatingIP>[0]
type FloatingIPStep = ReturnType<typeof getOrCreateFloatingIP>

const text = z.string()
const changesSchema = z.strictObject({ changes: z.array(text) })
const nameSchema = z.strictObject({ server: text })
const claimSchema = z.strictObject({ claim: text })
const tagSchema = z.strictObject({ pool: text, namespace: text.optional() })
const referenceSchema = z.strictObject({ poolRef: z.strictObject({ group: text, kind: text }) })
const wantedSchema = z.strictObject({
  ip: text.optional(),
  tags: z.array(text).optional(),
  /** The addresses that the cloud has. */
  outside: z.array(text).optional(),
  extensions: z.array(text).optional(),
  listError: text.optional(),
  extensionsError: text.optional(),
  createError: text.optional(),
  tagError: text.optional(),
})

/**
 * Servers of cluster-api-provider-openstack: names, what may change, and floating IPs that are
 * asked for by their address.
 */
export function consumerCapo(given: GivenCase): Answer | Promise<Answer> {
  return answerFunction(given, FUNCTIONS)
}

const identitySchema = z.strictObject({
  identityRef: z.strictObject({ type: text.optional(), name: text, cloudName: text }),
  reclaimPolicy: z.enum(['Retain', 'Delete']),
  /** Why the credentials cannot be used. */
  scopeError: text.nullish(),
})

/** A pool and the credentials that it names. */
async function poolReconcile(input: unknown, expect: unknown): Promise<Answer> {
  const { identityRef, reclaimPolicy, scopeError } = identitySchema.parse(input)
  const pool = { name: 'pool', namespace: 'default', uid: 'uid-of-the-pool', spec: { reclaimPolicy } }
  const world = new CapoPool(
    { pool, claims: [], addresses: [], outside: [] },
    { identityRef, error: scopeError ?? undefined },
  )
  await world.run()
  const found = (await world.pool())?.status?.conditions ?? []
  const failed = found.find(({ type, status }) => type === 'OpenStackAuthenticationSucceeded' && status === 'False')
  return answerKeys(expect, {
    error: () => failed?.message?.split(': ').slice(1).join(': ') ?? null,
    condition: (asked) => conditionAsked(asked, found),
  })
}

const FUNCTIONS: CaseFunctions = {
  poolReconcile,
  claimName(input, expect) {
    const { server } = nameSchema.parse(input)
    const pools = [{ apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'OpenStackFloatingIPPool', name: 'pool' }]
    const [desired] = claimsFor(ownerOf(server), [{ pools }], 'capo')
    return answerKeys(expect, { claim: () => desired?.name })
  },
  machineNameFromClaim(input, expect) {
    const { claim } = claimSchema.parse(input)
    return answerKeys(expect, { machine: () => capoServerOf(claim) })
  },
  poolTag(input, expect) {
    const { pool } = tagSchema.parse(input)
    return answerKeys(expect, { tag: () => poolTag(pool) })
  },
  claimReferencesPoolKind(input, expect) {
    const { poolRef } = referenceSchema.parse(input)
    const match = isFloatingIPPoolReference({ apiGroup: poolRef.group, kind: poolRef.kind })
    return answerKeys(expect, { match: () => match })
  },
  machineUpdate: (input, expect) =>
    admissionAnswer(expect, admitOpenStackMachine(changeOf(OpenStackMachine, changesSchema.parse(input).changes))),
  serverUpdate: (input, expect) =>
    admissionAnswer(expect, admitOpenStackServer(changeOf(OpenStackServer, changesSchema.parse(input).changes))),
  getOrCreateFloatingIP(input, expect) {
    const calls: string[] = []
    const { ip, error } = getOrCreate(wantedSchema.parse(input), calls)
    const asked = typeof expect === 'object' && expect !== null && 'outsideCalls' in expect ? expect.outsideCalls : []
    return answerKeys(expect, {
      outsideCalls: () => calls.map((call, index) => shortened(call, Array.isArray(asked) ? asked[index] : undefined)),
      ip: () => ip ?? null,
      error: (asked) => (typeof asked === 'boolean' ? error !== undefined : (error ?? null)),
    })
  },
}

/** A call without its arguments, where a case names it without. */
function shortened(call: string, asked: unknown): string {
  const [name = call] = call.split('(')
  return asked === name ? name : call
}

function admissionAnswer(expect: unknown, admission: Admission): Answer {
  const messages = admission.allowed ? [] : admission.errors.map(formatFieldError)
  return answerKeys(expect, {
    rejected: () => !admission.allowed,
    message: (asked) => messages.find((message) => message === asked) ?? messages[0] ?? null,
  })
}

/**
 * An update that changes these fields: `providerID`, `ports[].allowedAddressPairs`, `image.filter`.
 */
function changeOf<T extends KubeObject>(model: CrdModel<T>, changes: readonly string[]) {
  const { apiVersion, kind } = model.info
  const object = (spec: object) =>
    model.parse({ apiVersion, kind, metadata: { name: 'w1', namespace: NAMESPACE }, spec })
  const before = specOf([], 'before')
  return { operation: 'UPDATE', oldObject: object(before), object: object(specOf(changes, 'after')) } as const
}

/** A spec with all of the fields that are ever named, those of `changed` with another text. */
function specOf(changed: readonly string[], other: string): object {
  const spec = { flavor: 'before', ports: [{ network: 'before' }] }
  return changed.reduce<object>((result, path) => withField(result, path.split('.'), other), spec)
}

function withField(target: object, [name = '', ...rest]: readonly string[], value: string): object {
  const isList = name.endsWith('[]')
  const key = isList ? name.slice(0, -2) : name
  const before = (target as { readonly [key: string]: unknown })[key]
  if (isList) {
    const items = Array.isArray(before) && before.length > 0 ? before : [{}]
    return {
      ...target,
      [key]: items.map((item) => (rest.length === 0 ? { item, value } : withField(item, rest, value))),
    }
  }
  const inner = typeof before === 'object' && before !== null ? before : {}
  return { ...target, [key]: rest.length === 0 ? changedValue(key, value) : withField(inner, rest, value) }
}

/** What a field may hold: references are objects. */
function changedValue(key: string, value: string): unknown {
  if (key === 'identityRef') return { name: value, cloudName: value }
  if (key === 'floatingIPPoolRef') {
    return { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'OpenStackFloatingIPPool', name: value }
  }
  return key === 'ports' ? [{ network: value }] : value
}

/** What upstream's test describes floating IPs as. */
const DESCRIPTION = 'Created by cluster-api-provider-openstack cluster test-cluster'

type Wanted = z.output<typeof wantedSchema>

/** Carries out what is decided, step by step. */
function getOrCreate(given: Wanted, calls: string[]): { readonly ip?: string | undefined; readonly error?: string } {
  let known: WantedFloatingIP = { address: given.ip, tags: given.tags, description: DESCRIPTION }
  for (;;) {
    const step: FloatingIPStep = getOrCreateFloatingIP(known)
    switch (step.kind) {
      case 'failed':
        return { error: step.failure.message }
      case 'use':
        return { ip: step.address }
      case 'list':
        calls.push('list by ip')
        known = {
          ...known,
          listed: answerOf(
            (given.outside ?? []).map((address) => ({ address })),
            given.listError,
          ),
        }
        break
      case 'listExtensions':
        calls.push('list extensions')
        known = { ...known, extensions: answerOf(given.extensions ?? [], given.extensionsError) }
        break
      case 'create':
        return create(step, given, calls)
    }
  }
}

function create(
  { address, description, tags }: Extract<FloatingIPStep, { readonly kind: 'create' }>,
  { createError, tagError }: Wanted,
  calls: string[],
): { readonly ip?: string | undefined; readonly error?: string } {
  calls.push(`create(${address === undefined ? '' : 'ip, '}description=${description})`)
  if (createError !== undefined) return { error: createError }
  if (tags.length === 0) return { ip: address }
  calls.push('tag')
  return tagError === undefined ? { ip: address } : { error: tagError }
}

function answerOf<T>(value: T, error: string | undefined): ExternalResult<T> {
  return error === undefined ? { ok: true, value } : { ok: false, failure: { message: error, retryable: true } }
}
