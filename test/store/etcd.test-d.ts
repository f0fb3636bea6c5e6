import { etcdGateway } from 'ipam-kit/store/etcd'
import { expectTypeOf, test } from 'vitest'
import type { EtcdGatewayOptions, EtcdHttpRequest } from '../../src/store/etcd/gateway.js'

test("the platform's fetch fits the gateway of etcd as it is", () => {
  expectTypeOf<{ fetch: typeof fetch; url: string }>().toExtend<EtcdGatewayOptions>()
  etcdGateway({ fetch, url: 'http://127.0.0.1:2379' })
  etcdGateway({ fetch, url: 'http://127.0.0.1:2379', abortController: () => new AbortController() })
  expectTypeOf<EtcdHttpRequest['signal']>().toEqualTypeOf<AbortSignal | undefined>()
  expectTypeOf<EtcdHttpRequest>().toExtend<RequestInit>()
  etcdGateway({
    abortController: () => new AbortController(),
    url: ['https://a:2379', 'https://b:2379'],
    fetch: (url, request) => {
      const headers = { ...request.headers, authorization: 'token' }
      if (url.endsWith('/watch')) return fetch(url, { ...request, headers })
      return fetch(url, { ...request, headers, signal: AbortSignal.timeout(5_000) })
    },
  })
})

test('what is no AbortController does not', () => {
  // @ts-expect-error no controller
  etcdGateway({ fetch, url: 'http://127.0.0.1:2379', abortController: () => new AbortController().signal })
})

test('what is no fetch does not', () => {
  // @ts-expect-error no response
  etcdGateway({ fetch: async () => 'text', url: 'http://127.0.0.1:2379' })
})
