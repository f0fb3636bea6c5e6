import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Effect, Outcome, Step, Task } from 'ipam-kit/plan'
import { memoryStore } from 'ipam-kit/store/memory'
import { Dice } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { Scheduler } from '../../src/testing/simulation/scheduler.js'
import { share } from '../setup/depth.js'
import { stepping } from './simulation/stepping.js'
import { newPod, newSandbox, podrefOf } from './simulation/whereabouts/attachments.js'
import { simulateWhereabouts, type WhereaboutsOptions } from './simulation/whereabouts/index.js'
import { type Call, Kubelet } from './simulation/whereabouts/kubelet.js'
import { type Library, library } from './simulation/whereabouts/library.js'
import { pickNetworks } from './simulation/whereabouts/networks.js'

/** The first problem of each seed from 1 that goes wrong. */
async function problems(seeds: number, options: Partial<WhereaboutsOptions> = {}): Promise<readonly string[]> {
  const found: string[] = []
  for (let seed = 1; seed <= seeds; seed++) {
    const result = await simulateWhereabouts({ seed, ...options })
    found.push(...result.problems.slice(0, 1).map((problem) => `seed ${seed}: ${problem}`))
  }
  return found
}

/** The first problem like this of a library with a fault; `none` if 200 schedules do not find it. */
async function firstProblem(tested: Library, expected: RegExp): Promise<string> {
  for (let seed = 1; seed <= 200; seed++) {
    const { problems: found } = await simulateWhereabouts({ seed, tested })
    const problem = found.find((each) => expected.test(each))
    if (problem !== undefined) return problem
  }
  return 'none'
}

describe('the world of whereabouts', () => {
  test('finds nothing wrong without faults', async () => {
    expect(await problems(share(100, 8), { faults: [] })).toEqual([])
  })

  test('finds nothing wrong with faults at every call', async () => {
    expect(await problems(share(300, 24))).toEqual([])
  })

  test('does the same for the same seed', async () => {
    const [one, two] = [await simulateWhereabouts({ seed: 7 }), await simulateWhereabouts({ seed: 7 })]
    expect(one).toEqual(two)
    expect(one.schedule.length).toBeGreaterThan(100)
  })
})

test('no time passes beyond the next ADD of a sandbox that is not complete', () => {
  const never = () => {
    throw new Error('not called')
  }
  const world = {
    scheduler: new Scheduler(new Dice(1)),
    dice: new Dice(1),
    store: memoryStore({ now: () => 0 }),
    now: () => 0,
    isRough: () => false,
    sendsDels: () => true,
    call: never,
    made: never,
    wrote: never,
  }
  const kubelet = new Kubelet('n1', { flavor: 'ours', workers: 1 }, world)
  const [network] = pickNetworks(new Dice(1))
  const interfaces = ['net1', 'net2'].map((ifname) => ({ ifname, network: network! }))
  const pod = newPod({ name: 'p1', uid: 'u1', node: 'n1', interfaces, tells: 'late' })
  pod.sandbox = newSandbox(pod, 'ours', 'c1')
  const { attachments } = pod.sandbox
  kubelet.pods.push(pod)
  attachments[0]!.state = 'live'
  attachments[1]!.state = 'failed'
  pod.notBeforeMs = 1500
  expect(kubelet.dueMs).toBe(1500)
  attachments[1]!.state = 'adding'
  expect(kubelet.dueMs).toBe(Number.POSITIVE_INFINITY)
})

describe('each rule finds a fault that is planted', () => {
  const faults: readonly (readonly [name: string, tested: Library, expected: RegExp])[] = [
    [
      'two writers choose one address, and the version of the pool is not compared',
      editing((effect) => (effect.kind === 'patch' ? { ...effect, if: {} } : effect)),
      /has no row|has freed/,
    ],
    ['an ADD creates no reservation', unreserved(), /has no reservation of/],
    ['an ADD takes the reservations of others for its own', owning('ADD'), /has answered .* net\d uses/],
    ['a DEL takes the reservations of others for its own', owning('DEL'), /DEL of .* has deleted the reservation/],
    [
      'an ADD finds no Pod that uses the claim',
      withoutPods('ADD'),
      /uses the claim|ADD of .* has freed .*, which uses it/,
    ],
    ['an ADD answers an address that it has not written', answering(() => ['10.0.0.6']), /has no row/],
    ['an ADD answers the length of another subnet', withLengths(32), /with the lengths 32/],
    ['a DEL is that of another container', ofOther('DEL'), /has freed|is left/],
    ['a DEL does nothing', doing('DEL', 'nothing'), /DEL of .* is done, and the row/],
    ['a CHECK fails', doing('CHECK', 'missing'), /CHECK of .* has failed/],
    ['a DEL forgets the claim', withoutClaim('DEL'), /which a claim holds/],
    ['a GC knows no attachments', knowingNone(), /GC of .* has freed .*, which uses it/],
    ['no controller sweeps', { ...library, planners: () => [] }, /at rest: the (row|reservation) .* is left/],
    [
      'the sweep frees addresses of Pods that still exist',
      { ...library, planners: (options) => library.planners({ ...options, graceSeconds: 0 }) },
      /whereabouts-sweep .* has (freed|deleted)/,
    ],
    [
      'an ADD gives up when its range has free addresses',
      doing('ADD', 'exhausted'),
      /at rest: an ADD of .* has no address.*, and one is free/,
    ],
  ]

  for (const [name, tested, expected] of faults) {
    test(name, async () => {
      expect(await firstProblem(tested, expected)).toMatch(expected)
    })
  }
})

/** The library with other effects. */
function editing(edit: (effect: Effect, call: Call) => Effect): Library {
  const changed = (step: Step, call: Call): Step => {
    if (step.kind !== 'write') return step
    return { ...step, plan: { ...step.plan, effects: step.plan.effects.map((effect) => edit(effect, call)) } }
  }
  return { ...library, task: (call) => stepping(library.task(call), (step) => changed(step, call)) }
}

/** An ADD that does not send what it should, and answers all the same. */
function unreserved(): Library {
  return {
    ...library,
    task: (call) => {
      const task = library.task(call)
      if (call.verb !== 'ADD') return task
      return stepping(task, (step) => {
        if (step.kind !== 'write' || !step.plan.effects.some(({ kind }) => kind === 'create')) return step
        const effects = step.plan.effects.filter((effect) => {
          return effect.kind !== 'create' || effect.object.kind === 'IPPool'
        })
        if (effects.length > 0) return { ...step, plan: { ...step.plan, effects } }
        return { kind: 'done', outcome: { kind: 'unreserved', message: step.plan.outcome.message } }
      })
    },
    answerOf: (call, outcome) => {
      if (outcome.kind !== 'unreserved') return library.answerOf(call, outcome)
      const addresses = /^give (.*) to /.exec(outcome.message)?.[1]?.split(', ') ?? []
      return { kind: 'addresses', addresses, lengths: lengthsOf(call) }
    },
  }
}

function lengthsOf({ attachment }: Call): readonly number[] {
  return attachment.network.ranges.map(({ range }) => Number(range.split('/')[1]))
}

function answering(addresses: () => readonly string[]): Library {
  return {
    ...library,
    answerOf: (call, outcome) => {
      const answer = library.answerOf(call, outcome)
      return answer.kind === 'addresses' ? { ...answer, addresses: addresses() } : answer
    },
  }
}

function withLengths(length: number): Library {
  return {
    ...library,
    answerOf: (call, outcome) => {
      const answer = library.answerOf(call, outcome)
      return answer.kind === 'addresses' ? { ...answer, lengths: answer.addresses.map(() => length) } : answer
    },
  }
}

/** A verb that does nothing, and has this outcome. */
function doing(verb: Call['verb'], kind: string): Library {
  const outcome: Outcome = { kind, message: 'planted' }
  const task: Task = { next: () => ({ kind: 'done', outcome }), observe: () => {} }
  return { ...library, task: (call) => (call.verb === verb ? task : library.task(call)) }
}

/** A verb for the container that had its ADD last, whichever it is. */
function ofOther(verb: Call['verb']): Library {
  let last: Call | undefined
  return {
    ...library,
    task: (call) => {
      if (call.verb === 'ADD') last = call
      return library.task(call.verb === verb && last !== undefined ? { ...call, attachment: last.attachment } : call)
    },
  }
}

/** Each reservation that the task reads looks like its own. */
function owning(verb: Call['verb']): Library {
  return {
    ...library,
    task: (call) => {
      if (call.verb !== verb) return library.task(call)
      const { attachment } = call
      const spec = { podref: podrefOf(attachment), containerid: attachment.sandbox.id, ifname: attachment.ifname }
      const isReservation = ({ kind }: KubeObject) => kind === 'OverlappingRangeIPReservation'
      return stepping(
        library.task(call),
        (step) => step,
        (object) => (isReservation(object) ? { ...object, spec } : object),
      )
    },
  }
}

/** The task reads that there are no Pods. */
function withoutPods(verb: Call['verb']): Library {
  return {
    ...library,
    task: (call) => {
      if (call.verb !== verb) return library.task(call)
      return stepping(
        library.task(call),
        (step) => step,
        (object) => (object.kind === 'Pod' ? undefined : object),
      )
    },
  }
}

function withoutClaim(verb: Call['verb']): Library {
  return {
    ...library,
    task: (call) => {
      if (call.verb !== verb) return library.task(call)
      return library.task({ ...call, attachment: { ...call.attachment, claim: undefined } })
    },
  }
}

function knowingNone(): Library {
  return {
    ...library,
    task: (call) => {
      if (call.verb !== 'GC') return library.task(call)
      const record = call.record?.map((each) => ({ ...each, addedMs: 0 }))
      return library.task({ ...call, valid: [], record })
    },
  }
}
