import { type EtcdGatewayOptions, etcdGateway } from 'ipam-kit/store/etcd'
import { expectTypeOf, test } from 'vitest'

test("the platform's fetch fits the gateway of etcd as it is", () => {
  expectTypeOf<{ fetch: typeof fetch; url: string }>().toExtend<EtcdGatewayOptions>()
  etcdGateway({ fetch, url: 'http://127.0.0.1:2379' })
  etcdGateway({
    url: ['https://a:2379', 'https://b:2379'],
    fetch: (url, request) => {
      const headers = { ...request.headers, authorization: 'token' }
      const signal = url.endsWith('/watch') ? null : AbortSignal.timeout(5_000)
      return fetch(url, { ...request, headers, signal })
    },
  })
})

test('what is no fetch does not', () => {
  // @ts-expect-error no response
  etcdGateway({ fetch: async () => 'text', url: 'http://127.0.0.1:2379' })
})
