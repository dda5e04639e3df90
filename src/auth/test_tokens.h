// Tokens and keys that src/auth's tests use, made with the openssl program
// (tests/support/tokens.py).
#pragma once

#include <string_view>

namespace queen::auth {

inline constexpr std::string_view kTestSecret = "an issuer's secret of 32 bytes or more";

inline constexpr std::string_view kHs256Token =
    "eyJhbGciOiAiSFMyNTYiLCAidHlwIjogIkpXVCJ9.eyJzdWIiOiAid29ya2VyLTEiLCAicm9sZSI6ICJyZWF"
    "kLXdyaXRlIiwgImV4cCI6IDIwMDAwMDAwMDAsICJpc3MiOiAiaHR0cHM6Ly9pc3N1ZXIuZXhhbXBsZSIsICJ"
    "hdWQiOiBbInF1ZWVuIiwgIm90aGVyIl0sICJuYmYiOiAxMDAwMDAwMDAwLCAicXVlZW4iOiB7InB1c2giOiB"
    "bIm9yZGVycy4qIl0sICJwb3AiOiBbIm9yZGVycy4qIiwgIm1haWwiXSwgImFkbWluIjogW119fQ.S8CTXHSb"
    "C5K92NqIBoABVJOeoysyEKsQ8FDHfVyX2eo";
inline constexpr std::string_view kRs256Token =
    "eyJhbGciOiAiUlMyNTYiLCAidHlwIjogIkpXVCIsICJraWQiOiAia2V5LVJTMjU2In0.eyJzdWIiOiAid29y"
    "a2VyLTEiLCAicm9sZSI6ICJyZWFkLXdyaXRlIiwgImV4cCI6IDIwMDAwMDAwMDAsICJpc3MiOiAiaHR0cHM6"
    "Ly9pc3N1ZXIuZXhhbXBsZSIsICJhdWQiOiBbInF1ZWVuIiwgIm90aGVyIl0sICJuYmYiOiAxMDAwMDAwMDAw"
    "LCAicXVlZW4iOiB7InB1c2giOiBbIm9yZGVycy4qIl0sICJwb3AiOiBbIm9yZGVycy4qIiwgIm1haWwiXSwg"
    "ImFkbWluIjogW119fQ.XpspQ8gRwYXqbRDyZ8iERmI0LfsdavgVGMAE3WdLPcctCq_iwR4sZUOHe8AJS7wwp"
    "oLoXAN3RuJVXlFMlhEQG0EjmFJtGMMeZcuAcEcKoCBbDy_DlEZeo-yc01VRuOx_tryfWjNougMX9LwJ6T_Q3"
    "jUsu3CZegUIDsbexousmH1t20RqnF96xBqUERsReGwzUyLKV6znGp8q-sURGPEN0ZcS4-mVNe5S_R0PwnvFq"
    "HqpCJHicSjjnqInHW-o5o7zRyJmVdxMMDWdsMhKkHtwCA_x6_Fq-5-RIYAR9I0yOHgSwH4rd2g_kVDWmUygO"
    "DFPgtWO4i8eStgKVOcNbdDlrQ";
inline constexpr std::string_view kRs256Pem = R"(-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAr95KXtb0t8vTopXGevyE
xAyYtcd5joMR90cztGooXRdPb02OXc4YwJrYizb3UMqBZPXDuDlFmy2dZTkN7hcm
7eGxHbUN3hGZ4cKViLK2yZGRmAEN8yaJqx7++nzTqwpkuNLgHCJD9Af1xiYEg2gx
DC7/laVdZtifxWflDTB+fEOAUWc5zFTrArTiGdXSea3JFiAVyMzyR22izonIE5Zq
c+p0qm6PKRhRUTURxcwmFYq7/EpNXiz+Qzg8uFkZj8+qBUfxoQbeHUfDCOu6wddd
ZXhm8btgezFwK/s0SbfOFACjiFI80/GkgyEtbtNjLIIN8OtGobROiKYOEv38pGeK
hQIDAQAB
-----END PUBLIC KEY-----
)";
inline constexpr std::string_view kEs256Token =
    "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCIsICJraWQiOiAia2V5LUVTMjU2In0.eyJzdWIiOiAid29y"
    "a2VyLTEiLCAicm9sZSI6ICJyZWFkLXdyaXRlIiwgImV4cCI6IDIwMDAwMDAwMDAsICJpc3MiOiAiaHR0cHM6"
    "Ly9pc3N1ZXIuZXhhbXBsZSIsICJhdWQiOiBbInF1ZWVuIiwgIm90aGVyIl0sICJuYmYiOiAxMDAwMDAwMDAw"
    "LCAicXVlZW4iOiB7InB1c2giOiBbIm9yZGVycy4qIl0sICJwb3AiOiBbIm9yZGVycy4qIiwgIm1haWwiXSwg"
    "ImFkbWluIjogW119fQ.2lsZn_MjHSNyxgItBv0C1BM0ey68n6fSQoYtDQmpKZGViZivQhoxmhaqUCZc8EsAJ"
    "emJvctLwlEqto6hZtGPYA";
inline constexpr std::string_view kEs256Pem = R"(-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEyKNEnmnPn2QdoxFhOJj1wNjv7Akk
wwvuKtHeVuC8ml6+1SMxXOScs86UOCsuL8UVaol/5dDMg2qkEeYa/2y1xg==
-----END PUBLIC KEY-----
)";
inline constexpr std::string_view kEdDsaToken =
    "eyJhbGciOiAiRWREU0EiLCAidHlwIjogIkpXVCIsICJraWQiOiAia2V5LUVkRFNBIn0.eyJzdWIiOiAid29y"
    "a2VyLTEiLCAicm9sZSI6ICJyZWFkLXdyaXRlIiwgImV4cCI6IDIwMDAwMDAwMDAsICJpc3MiOiAiaHR0cHM6"
    "Ly9pc3N1ZXIuZXhhbXBsZSIsICJhdWQiOiBbInF1ZWVuIiwgIm90aGVyIl0sICJuYmYiOiAxMDAwMDAwMDAw"
    "LCAicXVlZW4iOiB7InB1c2giOiBbIm9yZGVycy4qIl0sICJwb3AiOiBbIm9yZGVycy4qIiwgIm1haWwiXSwg"
    "ImFkbWluIjogW119fQ.vRGEgTH_2C35hfSkyJxXIARQjxDOi3Cxb5_trT8erm9xn5krdD7v4fIBngb-HVgOe"
    "H5_t2W8dT0jU8XmVq78DQ";
inline constexpr std::string_view kEdDsaPem = R"(-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA6Z+8fe5NnTOx2vwmmeqQO2hCq++CWk9/qVWzbkiE2Yk=
-----END PUBLIC KEY-----
)";
inline constexpr std::string_view kTestJwks =
    R"({"keys": [{"use": "sig", "alg": "RS256", "kid": "key-RS256", "kty": "RSA", "n": )"
    R"("r95KXtb0t8vTopXGevyExAyYtcd5joMR90cztGooXRdPb02OXc4YwJrYizb3UMqBZPXDuDlFmy2dZTk)"
    R"(N7hcm7eGxHbUN3hGZ4cKViLK2yZGRmAEN8yaJqx7--nzTqwpkuNLgHCJD9Af1xiYEg2gxDC7_laVdZti)"
    R"(fxWflDTB-fEOAUWc5zFTrArTiGdXSea3JFiAVyMzyR22izonIE5Zqc-p0qm6PKRhRUTURxcwmFYq7_Ep)"
    R"(NXiz-Qzg8uFkZj8-qBUfxoQbeHUfDCOu6wdddZXhm8btgezFwK_s0SbfOFACjiFI80_GkgyEtbtNjLII)"
    R"(N8OtGobROiKYOEv38pGeKhQ", "e": "AQAB"}, {"use": "sig", "alg": "ES256", "kid": "k)"
    R"(ey-ES256", "kty": "EC", "crv": "P-256", "x": "yKNEnmnPn2QdoxFhOJj1wNjv7AkkwwvuKt)"
    R"(HeVuC8ml4", "y": "vtUjMVzknLPOlDgrLi_FFWqJf-XQzINqpBHmGv9stcY"}, {"use": "sig", )"
    R"("alg": "EdDSA", "kid": "key-EdDSA", "kty": "OKP", "crv": "Ed25519", "x": "6Z-8fe)"
    R"(5NnTOx2vwmmeqQO2hCq--CWk9_qVWzbkiE2Yk"}]})";

}  // namespace queen::auth
