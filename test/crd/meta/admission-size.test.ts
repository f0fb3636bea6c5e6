import { describe, expect, it } from 'vitest'
import { admitMetal3IPPool, IPPool } from '../../../src/crd/metal3/index.js'

function pool(spec: object, labels: { readonly [name: string]: string } = {}): IPPool {
  return IPPool.parse({
    apiVersion: 'ipam.metal3.io/v1alpha1',
    kind: 'IPPool',
    metadata: { name: 'blue', labels },
    spec: { namePrefix: 'blue', ...spec },
  })
}

describe('the size of an answer', () => {
  it('has no more warnings than an API server passes on', () => {
    const spec = {
      pools: [{ start: '10.0.0.1', end: '10.0.0.9', dnsServers: Array.from({ length: 5000 }, (_, i) => `bad-${i}`) }],
    }
    const answer = admitMetal3IPPool({ operation: 'UPDATE', object: pool(spec, { team: 'a' }), oldObject: pool(spec) })

    expect(answer.allowed).toBe(true)
    expect(answer.warnings!.join('').length).toBeLessThanOrEqual(4096)
    expect(answer.warnings!.length).toBeLessThanOrEqual(101)
    expect(answer.warnings!.at(-1)).toBe('more warnings are left out')
    expect(answer.warnings![0]).toBe('spec.pools[0].dnsServers[0]: Invalid value: "bad-0": is not a valid IP address')
  })

  it.each([
    ['long texts', ['a', 'b'].map((text) => text.repeat(1_000_000))],
    ['texts that are escaped', Array.from({ length: 300 }, () => '\u{e0001}'.repeat(1000))],
    ['many texts', Array.from({ length: 5000 }, (_, i) => `bad-${i}`)],
  ])('has a message of a limited length for %s', (_, dnsServers) => {
    const object = pool({ pools: [{ start: '10.0.0.1', end: '10.0.0.9' }], dnsServers })
    const answer = admitMetal3IPPool({ operation: 'CREATE', object })

    expect(answer).toMatchObject({ allowed: false, code: 422 })
    if (!answer.allowed) expect(answer.message.length).toBeLessThan(32_001)
  })

  it('tells errors apart that differ only behind the cut', () => {
    const long = 'x'.repeat(5000)
    const of = (text: string) => pool({ pools: [{ start: '10.0.0.1', end: '10.0.0.9' }], dnsServers: [text] })
    const answer = admitMetal3IPPool({ operation: 'UPDATE', object: of(`${long}b`), oldObject: of(`${long}a`) })

    expect(answer.allowed).toBe(false)
  })
})
